package door

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus"
	"flotilla/core/advice"
	"flotilla/core/api"
	"flotilla/core/content"
	"flotilla/core/seal"
	"flotilla/core/strict"
	"flotilla/hub/door/records"
)

// sealable is a body to be stored, sealed, for its digest.
type sealable struct {
	digest string
	body   []byte
}

// draft is everything one request would change. It is filled by deciding and then committed, or, on a
// dry run, only shown.
type draft struct {
	records *records.Tables
	keys    *seal.Keyring
	by      api.Caller
	request string
	epoch   uint64
	now     metav1.Time

	ops      []bus.Op
	bodies   []sealable
	events   []api.Audit
	results  []api.ApplyResult
	refused  refusal
	conflict strict.Faults
	// refusals are rules about upgrades that the request breaks.
	refusals []*api.Refusal
	// crowd says why members are not admitted, nil when they are.
	crowd   func(*draft) *api.Failure
	crowded *api.Failure
	// typed are the documents of known kinds that the request writes.
	typed []*document
	// judge adds what is wrong with the documents of known kinds as a whole, and what is remarkable.
	judge func(*draft) error
	// fleet is what the members would be once the documents were applied.
	fleet func([]document) ([]api.Member, error)
	// planning leaves it to the plan to tell why runs could not be created.
	planning bool
	// show puts into results what would be stored.
	show bool

	// classes are the node classes among the documents whose spec changes.
	classes []advice.ClassChange

	// index holds the content as it would be; touched says that it differs from what is stored.
	index   *content.Index
	touched bool
	// placements are those the request writes, by key; nil for one that is going.
	placements map[string]*api.Placement
	// cuts are the snapshots that are cut, by the key of their placement.
	cuts map[string]*api.Snapshot
	// going are the objects that a deletion names or takes along; true once they are deleted.
	going map[api.ObjectRef]bool
	// named are the keys of placements among the documents, changed or not.
	named map[string]struct{}
	// written maps the position of an op to the result that tells its revision.
	written map[int]int
	// erased maps the position of an op to the object whose spec it removes.
	erased map[int]api.ObjectRef
	// noted are names of objects whose heads are written.
	noted []string
}

func (d *Door) newDraft(by api.Caller, request string) *draft {
	f := &draft{
		records: d.records, keys: d.store.Keys, by: by, request: request, epoch: d.store.Term.Epoch,
		now: metav1.NewTime(d.store.Now().UTC().Truncate(time.Second)), index: d.shelf.Current(),
		placements: map[string]*api.Placement{}, named: map[string]struct{}{}, written: map[int]int{}, erased: map[int]api.ObjectRef{},
		going: map[api.ObjectRef]bool{}, cuts: map[string]*api.Snapshot{},
		judge: d.judge, crowd: d.crowd,
	}
	f.fleet = func(documents []document) ([]api.Member, error) {
		return d.records.MembersAfter(membersAmong(documents), f.now.Time)
	}
	return f
}

// write adds the spec of an object, and what is said about it, to the draft.
func (f *draft) write(spec api.Spec, revision uint64, event string) {
	table, name := f.records.Place(spec.Object)
	if last := len(f.results) - 1; last >= 0 && f.results[last].Object == spec.Object {
		f.written[len(f.ops)] = last
	}
	f.ops = append(f.ops, table.Put(name, &spec, revision))
	if table == f.records.Objects {
		f.noted = append(f.noted, name)
	}
	f.audit(records.EventName(spec.Object), event, spec.Object.String())
}

// erase adds the removal of an object's spec.
func (f *draft) erase(ref api.ObjectRef, revision uint64) {
	table, name := f.records.Place(ref)
	f.erased[len(f.ops)] = ref
	f.ops = append(f.ops, table.Delete(name, revision))
	if table == f.records.Objects {
		f.noted = append(f.noted, name)
	}
}

func (f *draft) audit(object, reason, message string) {
	f.events = append(f.events, f.by.Audit(api.Audit{
		Header: api.NewHeader(api.KindAudit), At: f.now, Object: object, Type: "Normal",
		Reason: reason, Message: message,
	}))
}

// cut adds a snapshot for every placement whose selected content differs from its newest one
// (placement.md 2.3). A placement the request writes is always looked at, others when content changed.
func (f *draft) cut(all func() []*api.Placement) error {
	if f.blind() {
		return nil
	}
	wanted := make([]*api.Placement, 0, len(f.placements))
	if f.touched {
		for _, p := range all() {
			if _, written := f.placements[p.Key()]; !written {
				wanted = append(wanted, p)
			}
		}
	}
	for _, p := range f.placements {
		if p != nil {
			wanted = append(wanted, p)
		}
	}
	slices.SortFunc(wanted, func(a, b *api.Placement) int { return strings.Compare(a.Key(), b.Key()) })
	for _, p := range wanted {
		if err := f.cutOne(p); err != nil {
			return err
		}
	}
	return nil
}
