package door

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"flotilla/bus"
	"flotilla/bus/disk"
	"flotilla/bus/loop"
	"flotilla/bus/store"
	"flotilla/bus/watch"
	"flotilla/core/api"
	"flotilla/core/guard"
	"flotilla/core/liveness"
	"flotilla/core/schedule"
	"flotilla/hub/door/draft"
	"flotilla/hub/door/guards"
	"flotilla/hub/door/keep"
	"flotilla/hub/door/past"
	"flotilla/hub/door/planner"
	"flotilla/hub/door/records"
	"flotilla/hub/door/show"
	"flotilla/hub/door/steer"
	"flotilla/hub/door/users"
	doorwatch "flotilla/hub/door/watch"
	"flotilla/hub/door/web"
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

	OfNodes
	// Streams are those that fill up, and members that are held back, as problems; nil is nobody knows.
	Streams func() []api.Problem
	// Bounds are how much a deletion may take away without a yes, guard.DefaultBounds where they are 0.
	Bounds guard.Bounds

	Served

	Rooms

	// More are verbs that other rooms answer, under the same service.
	More map[string]bus.Handler

	Log zerolog.Logger
}

// Served is where a hub serves something by HTTP; nil, or empty: it does not.
type Served struct {
	// Page is where its page is, as in api.WebResponse.
	Page func() string
	// Front is where its Kubernetes API is and the authority of its certificate, as in api.TokenResponse.
	Front func() (at string, ca []byte)
}

// Rooms are how much room there is to store more; nil: enough.
type Rooms struct {
	// Room is that of the servers.
	Room func() disk.Room
	// Memory is that of records in memory, once they take so many bytes more.
	Memory func(more int64) disk.Room
}

// OfNodes is what the room knows that follows nodes; nil is nobody knows.
type OfNodes struct {
	// Uses are what the states of the nodes of each member take.
	Uses func() map[string]watch.EventUse
	// Nodes are those of all members that belong to NodePools, by member.
	Nodes func(context.Context) map[string][]*api.NodeState
	// OnNodes registers what is called when anything about them may have changed.
	OnNodes func(func())
}

// Door answers requests on behalf of one term of leadership.
type Door struct {
	store    *store.Store
	options  Options
	records  *records.Tables
	desk     *draft.Desk
	keeper   *keep.Keeper
	view     *show.View
	users    *users.Users
	web      *web.Sessions
	changes  *doorwatch.Watch
	answers  *answers
	queues   queues
	leaving  *leaving
	heldBack *heldBack
	lanes    lanes
	service  atomic.Pointer[bus.Service] // while it answers
}

// queues are what a door does beside answering.
type queues struct {
	finisher, tidier *loop.Queue
	due              *loop.Queue // of content whose status time changes
}

// New returns a door on an open store; it answers nothing before Run.
func New(store *store.Store, o Options) *Door {
	if o.DeleteTimeout == 0 {
		o.DeleteTimeout = DefaultDeleteTimeout
	}
	usual := liveness.DefaultThresholds()
	o.Grace, o.Thresholds.Heartbeat = cmp.Or(o.Grace, usual.Grace), cmp.Or(o.Thresholds.Heartbeat, usual.Timeout)
	if o.Bounds == (guard.Bounds{}) {
		o.Bounds = guard.DefaultBounds()
	}
	d := &Door{store: store, options: o, records: records.New(store.State), answers: newAnswers(), leaving: newLeaving(), heldBack: newHeldBack(), lanes: lanes{loop.Lanes{Wide: 1}, loop.Lanes{Wide: 1}}}
	d.keeper = keep.New(store, d.records, d.room, o.Log)
	d.view = show.New(store, d.records, show.Options{
		Version: o.Version, Thresholds: o.Thresholds, Grace: o.Grace, Uses: o.Uses, Problems: d.roomProblems,
		Resealed: d.keeper.Resealed, Due: func(key string, at time.Time) { d.queues.due.AddAt(key, at) },
	})
	d.desk = draft.NewDesk(store, d.records, draft.Options{SkippedNamespaces: o.SkippedNamespaces, Inventory: d.view.Inventory, Nodes: o.Nodes, Bounds: o.Bounds, Log: o.Log})
	d.users, d.changes = users.New(store, o.People, o.AgentURL), doorwatch.New(store, d.records, o.OnNodes)
	if o.Page == nil {
		o.Page = func() string { return "" }
	}
	if o.Front == nil {
		o.Front = func() (string, []byte) { return "", nil }
	}
	d.web = web.New(store, d.users, web.Options{Page: o.Page, Front: o.Front, Log: o.Log})
	d.queues.finisher = loop.New(loop.Options{Now: store.Now, Failed: d.finishFailed})
	d.watchDeletions()
	d.queues.tidier = loop.New(loop.Options{Now: store.Now, Failed: d.tidyFailed})
	d.watchKept()
	d.queues.due = loop.New(loop.Options{Now: store.Now})
	return d
}

// Run answers requests until ctx ends; requests that run by then are answered first. Those who would write wait for the snapshots
// that a crash left uncut.
func (d *Door) Run(ctx context.Context) error {
	if err := d.store.State.WaitSynced(ctx); err != nil {
		return fmt.Errorf("opening the door: %w", err)
	}
	if err := d.desk.Take(ctx); err != nil {
		return fmt.Errorf("opening the door: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	d.view.Begin()
	// Requests that are being answered when ctx ends may finish: leadership outlives it by a margin.
	service, err := bus.Serve(context.WithoutCancel(ctx), d.store.Conn, bus.ServiceOptions{
		Version: semantic(d.options.Version), Replica: d.options.Replica, Leads: d.store.Leads, Keys: d.store.Keys,
		OfHubs: d.verbsOfHubs(), HeldBack: d.holdBack,
	}, d.verbs())
	if err != nil {
		return fmt.Errorf("opening the door: %w", err)
	}
	d.service.Store(service)
	defer d.service.Store(nil)
	var background sync.WaitGroup
	var uncut error
	background.Go(func() {
		if uncut = d.recut(ctx); uncut != nil {
			cancel()
		}
	})
	background.Go(func() { d.queues.finisher.Run(ctx, d.finish) })
	background.Go(func() { d.queues.tidier.Run(ctx, d.tidy) })
	background.Go(func() { d.queues.due.Run(ctx, d.tellDue) })
	background.Go(func() { d.keeper.Run(ctx) })
	background.Go(func() { d.web.Run(ctx) })
	<-ctx.Done()
	d.changes.End()
	service.Stop()
	background.Wait()
	return uncut
}

// recut cuts the snapshots that are missing, and lets those write who wait for it: nobody when it fails.
func (d *Door) recut(ctx context.Context) error {
	if err := d.desk.Recut(ctx); err != nil {
		return fmt.Errorf("cutting what is missing: %w", err)
	}
	d.desk.Leave()
	return nil
}

// tellDue has those look again who watch content whose status time has changed.
func (d *Door) tellDue(_ context.Context, key string) (time.Time, error) {
	d.changes.Due(key)
	return time.Time{}, nil
}

func (d *Door) verbs() map[string]bus.Handler {
	verbs := maps.Clone(d.options.More)
	if verbs == nil {
		verbs = map[string]bus.Handler{}
	}
	plans, before := planner.New(d.store, d.desk, d.records, d.view, d.options.Thresholds), past.New(d.store, d.records, d.view)
	steerer, guards := steer.New(d.desk, d.records), guards.New(d.store, d.records)
	maps.Copy(verbs, map[string]bus.Handler{
		api.VerbApply:       d.applying(),
		api.VerbDelete:      d.removing(),
		api.VerbPatch:       writing(d, d.patch),
		api.VerbAdmit:       writing(d, d.admit),
		api.VerbGet:         reading(d, d.view.Get),
		api.VerbList:        reading(d, d.view.List),
		api.VerbWatch:       reading(d, d.changes.Answer),
		api.VerbPlan:        reading(d, plans.Plan),
		api.VerbWhatIf:      reading(d, plans.WhatIf),
		api.VerbPreview:     reading(d, plans.Preview),
		api.VerbWhy:         reading(d, d.view.Why),
		api.VerbTrace:       reading(d, before.Trace),
		api.VerbHistory:     reading(d, before.History),
		api.VerbEvents:      reading(d, d.view.Events),
		api.VerbStatus:      reading(d, d.view.Status),
		api.VerbMember:      reading(d, d.view.OnMember),
		api.VerbFleet:       reading(d, d.view.Fleet),
		api.VerbCells:       reading(d, d.view.Cells),
		api.VerbWindows:     reading(d, d.view.Windows),
		api.VerbVersion:     reading(d, d.view.Version),
		api.VerbUnconfirmed: reading(d, d.view.Unconfirmed),

		api.VerbRolloutHistory: reading(d, d.view.History),
		api.VerbRolloutUndo:    writing(d, steerer.Undo),
		api.VerbRolloutPause:   writing(d, steerer.Pause),
		api.VerbRolloutResume:  writing(d, steerer.Resume),
		api.VerbRolloutRestart: writing(d, steerer.Restart),

		api.VerbFreeze:            freezing(d, guards.Freeze),
		api.VerbUnfreeze:          freezing(d, guards.Unfreeze),
		api.VerbApproveWithdrawal: writing(d, guards.Approve),

		api.VerbRaw:        reading(d, d.view.Raw),
		api.VerbWhoami:     reading(d, d.view.Whoami),
		api.VerbUserAdd:    entrance(d, d.users.Add),
		api.VerbUserList:   reading(d, d.users.List),
		api.VerbUserRevoke: entrance(d, d.users.Revoke),
		api.VerbWeb:        entrance(d, d.web.Link),
		api.VerbToken:      entrance(d, d.web.Token),
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
