package roller

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"flotilla/bus/loop"
	"flotilla/bus/store"
	"flotilla/bus/watch"
	"flotilla/core/api"
	"flotilla/core/guard"
	"flotilla/core/rollout"
	"flotilla/subjects"
)

// workers is how many placements are looked at at once.
const workers = 4

// behind is when a placement is looked at again whose caches were behind.
const behind = time.Second

// settle is how long results are gathered before a placement is looked at: many members answer at once.
const settle = 20 * time.Millisecond

// Keys of the queue are "placement:<placement>" and "member:<member>".
const (
	placementKey = "placement:"
	memberKey    = "member:"
)

// Options of a Roller. The zero value is for production.
type Options struct {
	// Bounds are how much may be taken away at once, guard.DefaultBounds where they are 0.
	Bounds guard.Bounds
	// Runs is told of every key that is looked at; nil tells nobody.
	Runs func(key string)
	Log  zerolog.Logger
}

// Roller writes releases during one term of leadership.
type Roller struct {
	store   *store.Store
	options Options
	records *records
	queue   *loop.Queue
	views   watch.Views[rollout.MemberView] // as last decided upon
	changes watch.Changes                   // of placements
	// followed are placements; each is used by one worker at a time.
	followed watch.Kept[placement]
	taking   sync.Mutex // held from a decision that takes something away to its write
}

// New returns a roller on an open store; it writes nothing before Run.
func New(store *store.Store, o Options) *Roller {
	if o.Bounds == (guard.Bounds{}) {
		o.Bounds = guard.DefaultBounds()
	}
	r := &Roller{store: store, options: o, records: newRecords(store)}
	r.queue = loop.New(loop.Options{Workers: workers, Now: store.Now, Failed: r.failed, Runs: o.Runs})
	return r
}

// Run writes releases until ctx ends.
func (r *Roller) Run(ctx context.Context) error {
	if err := r.store.State.WaitSynced(ctx); err != nil {
		return fmt.Errorf("starting to write releases: %w", err)
	}
	if err := r.store.Results.WaitSynced(ctx); err != nil {
		return fmt.Errorf("starting to write releases: %w", err)
	}
	r.fillViews()
	member := func(name string) { r.queue.Add(memberKey + name) }
	r.records.placements.OnChange(r.turned)
	r.records.schedules.OnChange(r.turned)
	r.records.releases.OnChange(r.turned)
	r.records.renderings.OnChange(r.turned)
	r.records.checks.OnChange(r.turned)
	r.records.staged.OnChange(r.turned)
	r.records.snapshots.OnChange(func(name string) { r.turned(subjects.Snapshots.Group(name)) })
	r.records.members.OnChange(member)
	r.records.seen.OnChange(member)
	r.records.freezes.OnChange(r.froze)
	r.records.approvals.OnChange(r.approved)
	r.store.Results.OnChange(r.heard)
	r.queue.Run(ctx, r.work)
	return nil
}

// turned wakes a placement of which a record, or a member, changed.
func (r *Roller) turned(placement string) {
	r.changes.Whole(placement)
	r.queue.Add(placementKey + placement)
}

// froze wakes what a freeze that begins, or ends, concerns.
func (r *Roller) froze(scope string) {
	if member := (&api.Freeze{Scope: scope}).Member(); member != "" {
		r.queue.Add(memberKey + member)
		return
	}
	for _, placement := range r.records.placements.Names() {
		r.turned(placement)
	}
}

// approved wakes the placements of which somebody let something go.
func (r *Roller) approved(name string) {
	approval, _, _ := r.records.approvals.Get(name)
	for i := range approval.Losses {
		r.turned(approval.Losses[i].Placement)
	}
}

// heard wakes the placement that a result is about, if anything of it is released.
func (r *Roller) heard(key string) {
	member, kind, placement, ok := subjects.ParseResultKey(key)
	if ok && kind == subjects.CommandPlacement && r.store.State.Revision(subjects.Releases.Key(placement)) != 0 {
		r.changes.Of(placement, member)
		r.queue.AddAt(placementKey+placement, r.store.Now().Add(settle))
	}
}

func (r *Roller) failed(key string, err error, delay time.Duration) {
	r.options.Log.Warn().Err(err).Str("key", key).Dur("retry", delay).Msg("releasing")
}

func (r *Roller) work(ctx context.Context, key string) (time.Time, error) {
	if !r.store.State.Synced() || !r.store.Results.Synced() {
		return r.store.Now().Add(behind), nil
	}
	if member, isMember := strings.CutPrefix(key, memberKey); isMember {
		return time.Time{}, r.wakeFor(member)
	}
	return r.release(ctx, strings.TrimPrefix(key, placementKey))
}

// fillViews takes in every member as it is: all placements are looked at anyway, not once more for each.
func (r *Roller) fillViews() {
	for _, member := range r.records.members.All() {
		view, err := r.records.view(member.Name)
		r.views.News(member.Name, view, err == nil && !view.Gone)
	}
}

// wakeFor wakes the placements on a member, when what a rollout sees of it has changed.
func (r *Roller) wakeFor(member string) error {
	view, err := r.records.view(member)
	if news := r.views.News(member, view, err == nil && !view.Gone); err != nil || !news {
		return err
	}
	for _, placement := range r.records.on(member) {
		r.turned(placement)
	}
	return nil
}
