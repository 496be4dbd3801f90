package runner

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"flotilla/bus/loop"
	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/subjects"
)

// DefaultPoll is how often a run that is under way is looked at without any cause.
const DefaultPoll = time.Minute

const (
	// behind is when a key is looked at again whose caches were behind.
	behind = time.Second
	// settle is how long changes are gathered before runs are looked at: many members answer at once.
	settle = 50 * time.Millisecond
	// progressEvery is how often a run takes in how far its members are when nothing else happens.
	progressEvery = 5 * time.Second
	// profileSettle is how long changes of the fleet are gathered before profiles are looked at.
	profileSettle = time.Second
	// sweepEvery is how often locks are checked for ones that no run knows of.
	sweepEvery = time.Hour
)

// Keys of the queue are "run:<run>", "profile:<profile>", and these.
const (
	runKey     = "run:"
	profileKey = "profile:"
	membersKey = "members"
	locksKey   = "locks"
)

// Options of a Runner. The zero value is for production.
type Options struct {
	// Entry is the way in for runs that profiles make.
	Entry Entry
	// Now is the clock that runs go by, that of the store when nil.
	Now func() time.Time
	// Poll is DefaultPoll when 0.
	Poll time.Duration
	// Runs is told of every key that is looked at; nil tells nobody.
	Runs func(key string)
	Log  zerolog.Logger
}

// Entry has the spec of a run written as the door does, and removed, by whoever commits what it returns.
type Entry interface {
	Enter(run *api.UpdateRun) (store.Op, error)
	Leave(run string) (op store.Op, found bool)
}

// Runner brings runs forward during one term of leadership.
type Runner struct {
	store   *store.Store
	options Options
	records *records
	queue   *loop.Queue
	states  *states
	// contents are the placements on which staged runs are under way.
	contents *contents

	// deciding is held from the first look at the records to the commit; it guards the fields below.
	deciding sync.Mutex
	fleet    *fleet
	waiters  waiters
}

// New returns a runner on an open store. Before Run it writes only what its verbs are asked for.
func New(store *store.Store, o Options) *Runner {
	if o.Now == nil {
		o.Now = store.Now
	}
	if o.Poll == 0 {
		o.Poll = DefaultPoll
	}
	r := &Runner{
		store: store, options: o, records: newRecords(store), states: newStates(), contents: &contents{of: map[string]string{}}, waiters: waiters{},
	}
	r.fleet = newFleet(r.records)
	r.queue = loop.New(loop.Options{Now: o.Now, Failed: r.failed, Runs: o.Runs})
	r.watch()
	return r
}

// Run brings runs forward until ctx ends.
func (r *Runner) Run(ctx context.Context) error {
	for _, wait := range []func(context.Context) error{
		r.store.State.WaitSynced, r.store.Results.WaitSynced, r.store.Inventories.WaitSynced,
	} {
		if err := wait(ctx); err != nil {
			return fmt.Errorf("starting to follow update runs: %w", err)
		}
	}
	r.queue.Add(locksKey)
	r.queue.Run(ctx, r.work)
	return nil
}

func (r *Runner) failed(key string, err error, delay time.Duration) {
	r.options.Log.Warn().Err(err).Str("key", key).Dur("retry", delay).Msg("following update runs")
}

func (r *Runner) synced() bool {
	return r.store.State.Synced() && r.store.Results.Synced() && r.store.Inventories.Synced()
}

func (r *Runner) work(ctx context.Context, key string) (time.Time, error) {
	if !r.synced() {
		return r.options.Now().Add(behind), nil
	}
	r.deciding.Lock()
	defer r.deciding.Unlock()
	return r.decide(ctx, key)
}

func (r *Runner) decide(ctx context.Context, key string) (time.Time, error) {
	r.refresh()
	switch {
	case key == membersKey:
		return time.Time{}, nil
	case key == locksKey:
		return r.options.Now().Add(sweepEvery), r.sweepLocks(ctx)
	case strings.HasPrefix(key, profileKey):
		return r.followProfile(ctx, strings.TrimPrefix(key, profileKey))
	default:
		return r.followRun(ctx, strings.TrimPrefix(key, runKey))
	}
}

// watch wakes what a change of any record concerns.
func (r *Runner) watch() {
	run := func(name string) { r.queue.Add(runKey + name) }
	member := func(name string) { r.fleet.note(name); r.queue.AddAt(membersKey, r.options.Now().Add(settle)) }
	r.records.members.OnChange(member)
	r.records.seen.OnChange(member)
	r.records.maintenance.OnChange(member)
	r.store.Inventories.OnChange(member)
	r.records.runSpecs.OnChange(run)
	r.records.runs.OnChange(r.noteRun)
	r.records.profileSpecs.OnChange(func(name string) { r.queue.Add(profileKey + name) })
	r.records.strategies.OnChange(func(string) { r.wakeProfiles(); r.wakeUncreated() })
	r.records.catalogs.OnChange(func(string) {
		r.wakeProfiles()
		r.wakeRuns(func(s *api.UpdateRunStatus) bool { return uncreated(s) || s.Status.State.Active() })
	})
	r.records.locks.OnChange(r.noteLock)
	r.records.freezes.OnChange(func(string) { r.wakeRuns(func(s *api.UpdateRunStatus) bool { return s.Status.State.Active() }) })
	r.store.Results.OnChange(r.heard)
	r.watchContent()
}

// heard wakes the run that a result is about, or that brings the placement which it is about, if there is one: soon when an operation ended, later when it only went on.
func (r *Runner) heard(key string) {
	_, kind, run, ok := subjects.ParseResultKey(key)
	if ok && kind == subjects.CommandPlacement {
		r.wakeContent(run, settle)
		return
	}
	if !ok || kind != subjects.CommandUpgrade || r.store.State.Revision(subjects.Runs.Key(run)) == 0 {
		return
	}
	delay := settle
	if result, _ := r.records.results.Get(key); result != nil && result.Outcome == api.OutcomeRunning {
		delay = progressEvery
	}
	r.queue.AddAt(runKey+run, r.options.Now().Add(delay))
}
