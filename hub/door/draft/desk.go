// Package draft holds what one request would change: documents are read, each is compared with what is stored, all of them
// are judged as they would be together, and snapshots are cut. A draft is then committed in one batch, or only shown. Verbs
// of the door are made on top of it.
package draft

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus/loop"
	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/core/content"
	"flotilla/core/guard"
	"flotilla/hub/door/bundles"
	"flotilla/hub/door/crowds"
	"flotilla/hub/door/parts"
	"flotilla/hub/door/records"
	"flotilla/subjects"
)

// MaxDocuments is how many documents one apply may hold.
const MaxDocuments = 500

// Options of a Desk.
type Options struct {
	// SkippedNamespaces are reserved beside those that always are.
	SkippedNamespaces []string
	// Inventory is what an agent says of its member, nil when it says nothing that can be read.
	Inventory func(member string) *api.MemberInventory
	// Nodes are those of all members that belong to NodePools, by member; nil when nobody knows. It takes no longer than the context.
	Nodes func(context.Context) map[string][]*api.NodeState
	// Bounds are how much a deletion may take away without a yes.
	Bounds guard.Bounds
	Log    zerolog.Logger
}

// Desk is where the drafts of one term of leadership are made. Drafts are made and committed one at a time.
type Desk struct {
	// Turn is held from the first look at the records to the commit.
	loop.Turn
	// Part is how many records one part of a deletion changes.
	Part int
	// Freezing is held, in a turn, while a freeze is written, and while a deletion is that no freeze forbids.
	Freezing loop.Turn
	// Storing are the lanes in which people have content stored before the turn.
	Storing loop.Lanes

	store   *store.Store
	records *records.Tables
	shelf   *records.Shelf
	crowds  *crowds.Crowds
	looks   *crowds.Looks
	stacks  *bundles.Stacks
	options Options
	// behind says that something that changed may be missing in snapshots.
	behind atomic.Bool
	// complaints about what cannot be read.
	complaints records.Complaints
}

// NewDesk returns a desk on the records of a store.
func NewDesk(leader *store.Store, tables *records.Tables, o Options) *Desk {
	d := &Desk{
		Turn: loop.NewTurn(), Part: parts.Most, Freezing: loop.NewTurn(), Storing: loop.Lanes{Wide: 1},
		store: leader, records: tables, shelf: records.NewShelf(tables.Objects, o.SkippedNamespaces), crowds: crowds.New(tables), looks: crowds.NewLooks(tables), stacks: bundles.NewStacks(leader.Content), options: o,
	}
	d.behind.Store(true)
	return d
}

// Door is the door itself where it does what nobody asked for.
func Door() api.Caller { return api.Caller{Name: "door", Role: api.RoleAdmin} }

// New returns an empty draft of a request that somebody made; the id of the request is empty where repeats do not matter.
func (d *Desk) New(by api.Caller, request string) *Draft {
	f := &Draft{
		desk: d, records: d.records, by: by, request: request, now: metav1.NewTime(d.store.Now().UTC().Truncate(time.Second)),
		batch:     batch{bodies: map[string][]byte{}, written: map[int]int{}, erased: map[int]api.ObjectRef{}},
		selection: selection{index: d.shelf.Current(), placements: map[string]*api.Placement{}, named: map[string]struct{}{}, cuts: map[string]*api.Snapshot{}, ended: map[string]*api.Pin{}, crowd: crowds.Draft{Crowds: d.crowds}},
		deletion:  deletion{going: map[api.ObjectRef]bool{}},
	}
	f.layout.Stacks, f.layout.Plan = d.stacks, content.Plan{Keys: d.store.Keys, Limit: d.store.Content.BundleLimit(), Size: f.sizeOf}
	return f
}

// Recut cuts the snapshots that are missing, as after a crash between two batches of one request. The turn is held.
func (d *Desk) Recut(ctx context.Context) error {
	f := d.New(Door(), "")
	f.touched, f.repeats = true, true
	if err := f.cut(); err != nil {
		return err
	}
	return f.Commit(ctx)
}

// Behind notes that snapshots may lack something that was deleted: whoever writes next cuts them.
func (d *Desk) Behind() { d.behind.Store(true) }

// Placements decodes every placement that is stored. Those that cannot be read are told of and left out (D5).
func (d *Desk) Placements() []*api.Placement {
	for name, err := range d.records.Placements.Broken() {
		d.complain(subjects.KindPlacement+"/"+name, d.store.State.Revision(d.records.Placements.Key(name)), err)
	}
	all := d.records.Placements.All()
	placements := make([]*api.Placement, 0, len(all))
	for i := range all {
		p, err := d.records.Placement(&all[i])
		if err != nil {
			d.complain(subjects.KindPlacement+"/"+all[i].Name, all[i].Revision, err)
			continue
		}
		placements = append(placements, p)
	}
	return placements
}
