package checker

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
	"flotilla/core/check"
	"flotilla/core/rollout"
	"flotilla/subjects"
)

// workers is how many placements are looked at at once.
const workers = 4

// behind is when a placement is looked at again whose caches were behind.
const behind = time.Second

// settle is how long results are gathered before a placement is looked at: many members answer at once.
const settle = 50 * time.Millisecond

// Keys of the queue are "placement:<placement>" and "member:<member>".
const (
	placementKey = "placement:"
	memberKey    = "member:"
)

// Options of a Checker.
type Options struct {
	// Endpoints are what may be asked.
	Endpoints *Endpoints
	// Runs is told of every key that is looked at; nil tells nobody.
	Runs func(key string)
	Log  zerolog.Logger
}

// Checker follows checks during one term of leadership.
type Checker struct {
	store   *store.Store
	options Options
	records *records
	queue   *loop.Queue
	views   watch.Views[rollout.MemberView]
	asking  sync.WaitGroup

	mu sync.Mutex
	// pending are questions that are asked, by placement and check; answers those that came and were not taken in yet.
	pending map[string]map[string]bool
	answers map[string][]check.Answer
}

// New returns a checker on an open store; it writes nothing before Run.
func New(store *store.Store, o Options) *Checker {
	c := &Checker{store: store, options: o, records: newRecords(store), pending: map[string]map[string]bool{}, answers: map[string][]check.Answer{}}
	c.queue = loop.New(loop.Options{Workers: workers, Now: store.Now, Failed: c.failed, Runs: o.Runs})
	return c
}

// Run follows checks until ctx ends, and returns once nothing is asked any more.
func (c *Checker) Run(ctx context.Context) error {
	for _, wait := range []func(context.Context) error{c.store.State.WaitSynced, c.store.Results.WaitSynced} {
		if err := wait(ctx); err != nil {
			return fmt.Errorf("starting to follow checks: %w", err)
		}
	}
	wake := func(placement string) { c.queue.Add(placementKey + placement) }
	member := func(name string) { c.queue.Add(memberKey + name) }
	c.records.placements.OnChange(wake)
	c.records.checks.OnChange(wake)
	c.records.schedules.OnChange(c.turned)
	c.records.releases.OnChange(c.turned)
	c.records.snapshots.OnChange(func(name string) { wake(subjects.Snapshots.Group(name)) })
	c.records.staged.OnChange(wake)
	c.records.specs.OnChange(c.defined)
	c.records.freezes.OnChange(func(string) { c.all() })
	c.records.members.OnChange(member)
	c.records.seen.OnChange(member)
	c.store.Results.OnChange(c.heard)
	c.queue.Run(ctx, c.work)
	c.asking.Wait()
	return nil
}

// turned wakes a placement with checks.
func (c *Checker) turned(placement string) {
	if c.records.checks.Revision(placement) != 0 {
		c.queue.Add(placementKey + placement)
	}
}

// all wakes every placement with checks.
func (c *Checker) all() {
	for _, placement := range c.records.checks.Names() {
		c.queue.Add(placementKey + placement)
	}
}

// defined wakes the placements that go out under a RolloutCheck.
func (c *Checker) defined(name string) {
	for _, entry := range c.records.checks.All() {
		if entry.Value.Check == name {
			c.queue.Add(placementKey + entry.Name)
		}
	}
}

// heard wakes the placement with checks that a result is about.
func (c *Checker) heard(key string) {
	_, kind, placement, ok := subjects.ParseResultKey(key)
	if ok && kind == subjects.CommandPlacement && c.records.checks.Revision(placement) != 0 {
		c.queue.AddAt(placementKey+placement, c.store.Now().Add(settle))
	}
}

func (c *Checker) failed(key string, err error, delay time.Duration) {
	c.options.Log.Warn().Err(err).Str("key", key).Dur("retry", delay).Msg("following checks")
}

func (c *Checker) work(ctx context.Context, key string) (time.Time, error) {
	if !c.store.State.Synced() || !c.store.Results.Synced() {
		return c.store.Now().Add(behind), nil
	}
	if member, isMember := strings.CutPrefix(key, memberKey); isMember {
		return time.Time{}, c.wakeFor(member)
	}
	return c.follow(ctx, strings.TrimPrefix(key, placementKey))
}

// wakeFor wakes the placements on a member, when what a rollout sees of it has changed.
func (c *Checker) wakeFor(member string) error {
	view, err := c.records.view(member)
	if news := c.views.News(member, view, err == nil && !view.Gone); err != nil || !news {
		return err
	}
	for _, placement := range c.records.on(member) {
		c.queue.Add(placementKey + placement)
	}
	return nil
}
