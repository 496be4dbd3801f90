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
	"flotilla/bus/store"
	"flotilla/bus/watch"
	"flotilla/core/api"
	"flotilla/core/liveness"
	"flotilla/core/schedule"
	"flotilla/hub/door/records"
	"flotilla/hub/door/show"
	"flotilla/hub/door/users"
	doorwatch "flotilla/hub/door/watch"
)

// DefaultDeleteTimeout is how long a deletion waits for members to confirm.
const DefaultDeleteTimeout = time.Minute

// Options of a Door. The zero value allows Secrets.
type Options struct {
	Replica string // of the hub, for people
	Version string // of the hub
	// People mints and revokes credentials of people; nil when somebody else does.
	People users.People
	// AgentURL is where the servers are, for whom credentials are made for.
	AgentURL string
	// SkippedNamespaces are reserved beside those that always are.
	SkippedNamespaces []string
	// DeleteTimeout is DefaultDeleteTimeout when 0.
	DeleteTimeout time.Duration
	// Thresholds are those that plans are made with, the scheduler's; of heartbeats 5 minutes when 0 (D21).
	Thresholds schedule.Thresholds
	// Grace is for how long no rollout begins to count as standing still, the reporter's; the liveness
	// default when 0.
	Grace time.Duration

	// Uses are what the states of the nodes of each member take; nil is nobody knows.
	Uses func() map[string]watch.EventUse
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
	store    *store.Store
	options  Options
	records  *records.Tables
	shelf    *records.Shelf
	view     *show.View
	users    *users.Users
	changes  *doorwatch.Watch
	answers  *answers
	finisher *loop.Queue
	// writing is held from the first look at the records to the commit.
	writing sync.Mutex
	leaving *leaving
	// complaints about what cannot be read.
	complaints complaints
	resealing  resealing
}

// New returns a door on an open store; it answers nothing before Run.
func New(store *store.Store, o Options) *Door {
	if o.DeleteTimeout == 0 {
		o.DeleteTimeout = DefaultDeleteTimeout
	}
	usual := liveness.DefaultThresholds()
	o.Grace, o.Thresholds.Heartbeat = cmp.Or(o.Grace, usual.Grace), cmp.Or(o.Thresholds.Heartbeat, usual.Timeout)
	d := &Door{store: store, options: o, records: records.New(store.State), answers: newAnswers(), leaving: newLeaving()}
	d.shelf = records.NewShelf(d.records.Objects, o.SkippedNamespaces)
	d.view = show.New(store, d.records, show.Options{
		Version: o.Version, Thresholds: o.Thresholds, Grace: o.Grace, Uses: o.Uses, Problems: d.roomProblems,
		Resealed: func() (done, of int64) { return d.resealing.done.Load(), d.resealing.of.Load() },
	})
	d.users, d.changes = users.New(store, o.People, o.AgentURL), doorwatch.New(store, o.OnNodes)
	d.finisher = loop.New(loop.Options{Now: store.Now, Failed: d.finishFailed})
	d.watchDeletions()
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
	d.view.Begin()
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
	d.changes.End()
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
		api.VerbGet:         reading(d, d.view.Get),
		api.VerbList:        reading(d, d.view.List),
		api.VerbWatch:       reading(d, d.changes.Answer),
		api.VerbPlan:        reading(d, d.plan),
		api.VerbWhy:         reading(d, d.view.Why),
		api.VerbEvents:      reading(d, d.view.Events),
		api.VerbStatus:      reading(d, d.view.Status),
		api.VerbVersion:     reading(d, d.view.Version),
		api.VerbUnconfirmed: reading(d, d.view.Unconfirmed),

		api.VerbRolloutHistory: reading(d, d.view.History),
		api.VerbRolloutUndo:    writing(d, d.steering((*draft).undo)),
		api.VerbRolloutPause:   writing(d, d.steering((*draft).pause)),
		api.VerbRolloutResume:  writing(d, d.steering((*draft).resume)),
		api.VerbRolloutRestart: writing(d, d.restart),

		api.VerbRaw:        reading(d, d.view.Raw),
		api.VerbWhoami:     reading(d, d.view.Whoami),
		api.VerbUserAdd:    writing(d, d.users.Add),
		api.VerbUserList:   reading(d, d.users.List),
		api.VerbUserRevoke: writing(d, d.users.Revoke),
	})
	for verb, handler := range verbs {
		verbs[verb] = d.users.Guard(d.withRoom(verb, handler))
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
