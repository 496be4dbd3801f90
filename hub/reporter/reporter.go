package reporter

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"flotilla/bus/lines"
	"flotilla/bus/loop"
	"flotilla/bus/store"
	"flotilla/bus/watch"
	"flotilla/core/api"
	"flotilla/core/liveness"
	"flotilla/core/status"
	"flotilla/subjects"
)

// workers is how many placements are looked at at once.
const workers = 4

// listen is for how long news of a placement is gathered before it is folded in: many members answer at once.
const listen = 20 * time.Millisecond

// behind is when a placement is looked at again whose caches were behind.
const behind = time.Second

// Keys of the queue are "placement:<placement>", "member:<member>" and "sweep".
const (
	placementKey = "placement:"
	memberKey    = "member:"
	sweepKey     = "sweep"
)

// Options of a Reporter. The zero value is for production.
type Options struct {
	// Settle is how long changes of a placement on which more is under way are gathered, a tenth of a second when 0.
	Settle time.Duration
	// Sweep is how often results of members that are none are looked for, an hour when 0.
	Sweep time.Duration
	// Grace is for how long after Run began no rollout begins to count as standing still, the liveness
	// default when 0.
	Grace time.Duration
	// Runs is told of every key that is looked at; nil tells nobody.
	Runs func(key string)
	Log  zerolog.Logger
}

// Reporter writes statuses during one term of leadership.
type Reporter struct {
	store   *store.Store
	options Options
	records *records
	queue   *loop.Queue
	suspect map[string]struct{}        // members that the last sweep did not know; used by one worker at a time
	views   watch.Views[status.Member] // as last reported on
	changes watch.Changes              // of placements
	// followed are placements; each is used by one worker at a time.
	followed watch.Kept[placement]
	began    time.Time   // when Run did
	lines    lines.Bound // of what cannot be read, by member

	mu     sync.Mutex
	warned map[string]time.Time // by member: when it was warned of last
}

// New returns a reporter on an open store; it writes nothing before Run.
func New(store *store.Store, o Options) *Reporter {
	if o.Settle == 0 {
		o.Settle = 100 * time.Millisecond
	}
	if o.Sweep == 0 {
		o.Sweep = time.Hour
	}
	if o.Grace == 0 {
		o.Grace = liveness.DefaultThresholds().Grace
	}
	r := &Reporter{
		store: store, options: o, records: newRecords(store),
		suspect: map[string]struct{}{}, warned: map[string]time.Time{}, lines: lines.Bound{Now: store.Now},
	}
	r.queue = loop.New(loop.Options{Workers: workers, Now: store.Now, Failed: r.failed, Runs: o.Runs})
	return r
}

// Run writes statuses until ctx ends.
func (r *Reporter) Run(ctx context.Context) error {
	if err := r.store.State.WaitSynced(ctx); err != nil {
		return fmt.Errorf("starting to report: %w", err)
	}
	if err := r.store.Results.WaitSynced(ctx); err != nil {
		return fmt.Errorf("starting to report: %w", err)
	}
	r.began = r.store.Now()
	r.fillViews()
	r.records.placements.OnChange(r.turned)
	r.records.checks.OnChange(r.turned)
	r.records.schedules.OnChange(r.turned)
	r.records.releases.OnChange(r.turned)
	r.records.snapshots.OnChange(func(name string) { r.turned(subjects.Snapshots.Group(name)) })
	r.records.statuses.OnChange(r.wrote)
	r.records.freezes.OnChange(func(string) {
		for _, placement := range r.records.placements.Names() {
			r.turned(placement)
		}
	})
	r.store.Results.OnChange(r.heard)
	r.store.ResultBatches.OnRefusal(r.refused)
	r.records.seen.OnChange(func(name string) { r.queue.Add(memberKey + name) })
	r.queue.AddAt(sweepKey, r.store.Now().Add(r.options.Sweep))
	r.queue.Run(ctx, r.work)
	return nil
}

func (r *Reporter) wake(placement string) {
	r.queue.AddAt(placementKey+placement, r.store.Now().Add(listen))
}

// turned wakes a placement of which a record changed.
func (r *Reporter) turned(placement string) {
	r.changes.Whole(placement)
	r.wake(placement)
}

// heard wakes the placement that a result is about, if there is one.
func (r *Reporter) heard(key string) {
	member, kind, placement, ok := subjects.ParseResultKey(key)
	if ok && kind == subjects.CommandPlacement && r.store.State.Revision(r.records.placements.Key(placement)) != 0 {
		r.changes.Of(placement, member)
		r.wake(placement)
	}
}

func (r *Reporter) failed(key string, err error, delay time.Duration) {
	r.options.Log.Warn().Err(err).Str("key", key).Dur("retry", delay).Msg("reporting")
}

func (r *Reporter) work(ctx context.Context, key string) (time.Time, error) {
	if !r.store.State.Synced() || !r.store.Results.Synced() {
		return r.store.Now().Add(behind), nil
	}
	if key == sweepKey {
		return r.sweep(ctx)
	}
	if member, isMember := strings.CutPrefix(key, memberKey); isMember {
		return time.Time{}, r.wakeFor(member)
	}
	return r.report(ctx, strings.TrimPrefix(key, placementKey))
}

// fillViews takes in every member as it is: all placements are looked at anyway, not once more for each.
func (r *Reporter) fillViews() {
	for _, member := range r.records.seen.All() {
		view, err := r.records.view(member.Name)
		r.views.News(member.Name, shown(view), err == nil && view != (status.Member{}))
	}
}

// shown is what statuses show of a member: when it was heard of last while nothing is heard of it.
func shown(view status.Member) status.Member {
	if view.State != api.MemberUnknown {
		view.LastSeen = time.Time{}
	}
	return view
}

// wakeFor wakes the placements on a member, when what a status shows of it has changed.
func (r *Reporter) wakeFor(member string) error {
	view, err := r.records.view(member)
	if news := r.views.News(member, shown(view), err == nil && view != (status.Member{})); err != nil || !news {
		return err
	}
	for _, placement := range r.records.on(member) {
		r.changes.Of(placement, member)
		r.wake(placement)
	}
	return nil
}
