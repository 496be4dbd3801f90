package door

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"flotilla/bus"
	"flotilla/bus/loop"
	"flotilla/core/api"
	"flotilla/core/liveness"
)

// DefaultDeleteTimeout is how long a deletion waits for members to confirm.
const DefaultDeleteTimeout = time.Minute

// People mints and revokes credentials of people.
type People interface {
	// PersonCreds mints the text of a .creds file with a new key, and returns its public part.
	PersonCreds(person string, role api.Role, life time.Duration) (creds []byte, key string, err error)
	// Revoke refuses a public key of an account from now on, and cuts its connections.
	Revoke(account, key string) error
	// FirstPerson is the public key of the admin who is there before any other.
	FirstPerson() string
}

// Options of a Door. The zero value allows Secrets.
type Options struct {
	Replica string // of the hub, for people
	Version string // of the hub
	// People mints and revokes credentials of people; nil when somebody else does.
	People People
	// AgentURL is where the servers are, for whom credentials are made for.
	AgentURL string
	// SkippedNamespaces are reserved beside those that always are.
	SkippedNamespaces []string
	// DeleteTimeout is DefaultDeleteTimeout when 0.
	DeleteTimeout time.Duration
	// MemberTimeout and UnhealthyTimeout are the thresholds plans are made with, the scheduler's; 5 minutes
	// when 0 (D21).
	MemberTimeout, UnhealthyTimeout time.Duration
	// Grace is for how long no rollout begins to count as standing still, the reporter's; the liveness
	// default when 0.
	Grace time.Duration

	// Uses are what the states of the nodes of each member take; nil is nobody knows.
	Uses func() map[string]bus.EventUse
	// Streams are those that fill up, as problems; nil is nobody knows.
	Streams func() []api.Problem
	// Nodes are those of all members that belong to NodePools, by member, as the room that follows them knows
	// them; nil when none does.
	Nodes func() map[string][]*api.NodeState
	// OnNodes registers what is called when anything about them may have changed; nil: nobody knows.
	OnNodes func(func())

	// Room is how much room the servers have to store more; nil: enough.
	Room func() bus.Room

	// More are verbs that other rooms answer, under the same service.
	More map[string]bus.Handler

	Log zerolog.Logger
}

// Door answers requests on behalf of one term of leadership.
type Door struct {
	store    *bus.Store
	options  Options
	records  *records
	answers  *answers
	finisher *loop.Queue
	// writing is held from the first look at the records to the commit.
	writing sync.Mutex
	shelf   *shelf
	decoded *decoded
	leaving *leaving
	// departed remembers what members that left had not confirmed.
	departed *departed
	// judgeFrom is when this hub has had the time to hear of every member.
	judgeFrom time.Time
	// complaints about what cannot be read.
	complaints complaints
	// inventories are what agents say of their members.
	inventories *bus.Values[api.MemberInventory]
	// drains are what they say of disruptions of nodes.
	drains *bus.Values[api.DisruptionResult]

	resealing resealing
	news      *news
}

// New returns a door on an open store; it answers nothing before Run.
func New(store *bus.Store, o Options) *Door {
	if o.DeleteTimeout == 0 {
		o.DeleteTimeout = DefaultDeleteTimeout
	}
	usual := liveness.DefaultThresholds()
	o.Grace, o.MemberTimeout = cmp.Or(o.Grace, usual.Grace), cmp.Or(o.MemberTimeout, usual.Timeout)
	d := &Door{store: store, options: o, records: newRecords(store.State), answers: newAnswers(), leaving: newLeaving(), departed: newDeparted(), news: newNews()}
	d.inventories = bus.ValuesOf[api.MemberInventory](store.Inventories)
	d.drains = bus.ValuesOf[api.DisruptionResult](store.Results)
	d.shelf, d.decoded = newShelf(d.records.objects, o.SkippedNamespaces), newDecoded()
	d.finisher = loop.New(loop.Options{Now: store.Now, Failed: d.finishFailed})
	d.watchDeletions()
	d.listen()
	return d
}

// Run cuts snapshots that a crash left uncut, then answers requests until ctx ends; requests that run
// by then are answered first.
func (d *Door) Run(ctx context.Context) error {
	if err := d.store.State.WaitSynced(ctx); err != nil {
		return fmt.Errorf("opening the door: %w", err)
	}
	if err := d.recut(ctx); err != nil {
		return fmt.Errorf("opening the door: %w", err)
	}
	d.judgeFrom = d.store.Now().Add(d.options.Grace)
	// Requests that are being answered when ctx ends may finish: leadership outlives it by a margin.
	service, err := bus.Serve(context.WithoutCancel(ctx), d.store.Conn, bus.ServiceOptions{
		Version: semantic(d.options.Version), Replica: d.options.Replica, Leads: d.store.Leads, Keys: d.store.Keys,
	}, d.verbs())
	if err != nil {
		return fmt.Errorf("opening the door: %w", err)
	}
	var background sync.WaitGroup
	background.Go(func() { d.finisher.Run(ctx, d.finish) })
	background.Go(func() { d.sweep(ctx) })
	background.Go(func() { d.reseal(ctx) })
	<-ctx.Done()
	d.news.end()
	service.Stop()
	background.Wait()
	return nil
}

func (d *Door) verbs() map[string]bus.Handler {
	verbs := maps.Clone(d.options.More)
	if verbs == nil {
		verbs = map[string]bus.Handler{}
	}
	maps.Copy(verbs, map[string]bus.Handler{
		api.VerbApply:       writing(d, d.apply),
		api.VerbDelete:      writing(d, d.remove),
		api.VerbPatch:       writing(d, d.patch),
		api.VerbAdmit:       writing(d, d.admit),
		api.VerbGet:         reading(d, d.get),
		api.VerbList:        reading(d, d.list),
		api.VerbWatch:       reading(d, d.watch),
		api.VerbPlan:        reading(d, d.plan),
		api.VerbWhy:         reading(d, d.why),
		api.VerbEvents:      reading(d, d.events),
		api.VerbStatus:      reading(d, d.status),
		api.VerbVersion:     reading(d, d.version),
		api.VerbUnconfirmed: reading(d, d.unconfirmedBy),
		api.VerbRaw:         reading(d, d.raw),
		api.VerbWhoami:      reading(d, d.whoami),
		api.VerbUserAdd:     writing(d, d.addUser),
		api.VerbUserList:    reading(d, d.listUsers),
		api.VerbUserRevoke:  writing(d, d.revokeUser),
	})
	for verb, handler := range verbs {
		verbs[verb] = d.withCaller(d.withRoom(verb, handler))
	}
	return verbs
}

var semanticVersion = regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)

// semantic is a version as NATS takes it for a service; builds without a number are 0.0.0.
func semantic(version string) string {
	if bare := strings.TrimPrefix(version, "v"); semanticVersion.MatchString(bare) {
		return bare
	}
	return "0.0.0"
}
