package disruptor

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"flotilla/bus/lines"
	"flotilla/bus/loop"
	"flotilla/bus/store"
	"flotilla/bus/watch"
	"flotilla/core/capacity"
	"flotilla/core/disruption"
	"flotilla/core/orchestration"
	"flotilla/core/simulate"
)

// Defaults of Options.
const (
	DefaultInterval = 10 * time.Second
	// DefaultMostAge is two of the intervals in which agents send inventories, and some time beside.
	DefaultMostAge = 2*time.Hour + 10*time.Minute
)

const (
	// workers is how many members are looked at at once.
	workers = 4
	// behind is when a key is looked at again whose caches were behind.
	behind = time.Second
	// settle is how long changes are gathered before a member is looked at.
	settle = 100 * time.Millisecond
	// progressEvery is how long is waited with what an agent says that only people read.
	progressEvery = 2 * time.Second
	// poolEvery is the least time between two records of a pool, or the interval when that is shorter.
	poolEvery = 2 * time.Second
	// freeFor is how long a member that nobody holds is kept for an update run that waits for it. A run that
	// does not take it in that time waits for its turn among other members.
	freeFor = time.Minute
)

// Keys of the queue are members and "pool:<NodePool>"; no member has a colon in its name.
const poolKeyPrefix = "pool:"

// Options of a Disruptor. The zero value is for production.
type Options struct {
	// Now is the clock that disruptions go by, that of the store when nil.
	Now func() time.Time
	// Interval is the least time between two decisions about a member that follow from changes,
	// DefaultInterval when 0.
	Interval time.Duration
	// ValidationWait is how long a chosen consolidation waits before it is checked again and begun,
	// disruption.ValidationWait when 0.
	ValidationWait time.Duration
	// MostAge is how old the inventory of a member may be, DefaultMostAge when 0.
	MostAge time.Duration
	// Patience is how long a request waits for the decisions that are being made, DefaultPatience when 0.
	Patience time.Duration
	// Thought is how long the hub works out what somebody asks about one member, DefaultThought when 0.
	Thought time.Duration
	Rules   capacity.Rules
	// Disabled lets nothing begin but what persons ask for.
	Disabled bool
	// Metrics are told what happens; nil counts for nobody.
	Metrics *Metrics
	// Runs is told of every key that is looked at; nil tells nobody.
	Runs func(key string)
	Log  zerolog.Logger
}

func (o Options) withDefaults() Options {
	type setting struct {
		at *time.Duration
		or time.Duration
	}
	settings := []setting{
		{&o.Interval, DefaultInterval},
		{&o.ValidationWait, disruption.ValidationWait},
		{&o.MostAge, DefaultMostAge},
		{&o.Patience, DefaultPatience},
		{&o.Thought, DefaultThought},
	}
	for _, t := range settings {
		if *t.at == 0 {
			*t.at = t.or
		}
	}
	if o.Metrics == nil {
		o.Metrics = NewMetrics()
	}
	return o
}

// Disruptor decides about the nodes of members during one term of leadership.
type Disruptor struct {
	store        *store.Store
	options      Options
	records      *records
	queue        *loop.Queue
	feed         *watch.NodeFeed
	roster       roster
	provisioning *provisioning
	fleet        *fleet
	awaited      *awaited
	lines        lines.Bound // of what cannot be read, by member
	// countedAll says that all members were counted since there are NodePools.
	counting   loop.Turn
	countedAll bool
	// written is when the record of each pool was written last.
	written sync.Map
	news    atomic.Pointer[func()]
}

// OnNews has f called whenever something was heard of nodes, or decided about them; it must not block.
func (d *Disruptor) OnNews(f func()) { d.news.Store(&f) }

func (d *Disruptor) tell() {
	if news := d.news.Load(); news != nil {
		(*news)()
	}
}

// decodedOfShare is how much what is told of the nodes of a member takes once it is decoded, of what it takes stored: states of nodes with 110 pods
// each fill both at once. A kilobyte can unpack to a megabyte.
const decodedOfShare = 96

// New returns a disruptor on an open store. Before Run it writes only what its verbs are asked for.
func New(store *store.Store, o Options) *Disruptor {
	if o.Now == nil {
		o.Now = store.Now
	}
	d := &Disruptor{
		store: store, options: o.withDefaults(), records: newRecords(store), roster: roster{members: map[string]*memberState{}, most: decodedOfShare * store.Share().Events},
		fleet: newFleet(), awaited: newAwaited(), counting: loop.NewTurn(), lines: lines.Bound{Now: store.Now},
	}
	d.provisioning = newProvisioning(d.records, store.Content)
	d.feed = watch.NewNodeFeed(store.Conn, sink{d})
	d.feed.Limit(store.Share().Events, d.beyond)
	d.queue = loop.New(loop.Options{Workers: workers, Now: o.Now, Failed: d.failed, Runs: o.Runs})
	return d
}

// Run decides until ctx ends.
func (d *Disruptor) Run(ctx context.Context) error {
	var running sync.WaitGroup
	defer d.options.Metrics.reset()
	defer running.Wait()
	running.Go(func() { d.feed.Run(ctx) })
	for _, wait := range []func(context.Context) error{d.store.State.WaitSynced, d.store.Results.WaitSynced, d.feed.WaitSynced} {
		if err := wait(ctx); err != nil {
			return fmt.Errorf("starting to follow the nodes of members: %w", err)
		}
	}
	if err := d.countAll(ctx); err != nil {
		return fmt.Errorf("counting the nodes of members: %w", err)
	}
	d.watch()
	d.queue.Run(ctx, d.work)
	return nil
}

// prime reads what is stored and counts all members, until ctx ends; it says whether all were counted.
func (d *Disruptor) prime(ctx context.Context) (all bool) {
	names := make(chan string)
	var running sync.WaitGroup
	var missed atomic.Bool
	for range workers {
		running.Go(func() {
			for name := range names {
				if err := d.count(ctx, d.roster.get(name)); err != nil {
					missed.Store(true)
				}
			}
		})
	}
	for _, name := range d.roster.names() {
		select {
		case names <- name:
		case <-ctx.Done():
		}
	}
	close(names)
	running.Wait()
	return ctx.Err() == nil && !missed.Load()
}

// count counts the nodes of a member; it errs when the member's turn does not come.
func (d *Disruptor) count(ctx context.Context, m *memberState) error {
	if err := m.decide(ctx); err != nil {
		return err
	}
	defer m.deciding.Leave()
	d.fold(m)
	if !d.wanted(m) {
		d.queue.AddAt(m.name, m.kept)
	}
	s, err := d.gather(ctx, m)
	if err != nil {
		d.options.Log.Warn().Err(err).Str("member", m.name).Msg("counting the nodes of a member")
		d.countBroken(m, err)
		return nil
	}
	d.census(m, s)
	return nil
}

// countBroken counts the nodes of a member whose records cannot all be read: those that its disruptions
// hold, or all when those are not known, spend budgets that it shares.
func (d *Disruptor) countBroken(m *memberState, why error) {
	s := simulate.State{Cluster: m.View.Cluster}
	if record, _, _, err := d.records.disruptions.Find(m.name); err == nil {
		s.Busy = orchestration.Busy(record.Disruptions)
	} else {
		s.Busy = map[string]bool{}
		for _, n := range m.View.Cluster.Names() {
			s.Busy[n] = true
		}
	}
	d.counted(m.name, d.fleet.set(m.name, census{pools: disruption.CountPools(&s), unknown: why.Error()}))
}

func (d *Disruptor) failed(key string, err error, delay time.Duration) {
	d.options.Log.Warn().Err(err).Str("key", key).Dur("retry", delay).Msg("following the nodes of members")
}

func (d *Disruptor) synced() bool { return d.store.State.Synced() && d.store.Results.Synced() }

func (d *Disruptor) work(ctx context.Context, key string) (time.Time, error) {
	if !d.synced() {
		return d.options.Now().Add(behind), nil
	}
	if err := d.countAll(ctx); err != nil {
		return d.options.Now().Add(behind), nil
	}
	if pool, ok := strings.CutPrefix(key, poolKeyPrefix); ok {
		return d.followPool(ctx, pool)
	}
	defer d.tell()
	return d.pass(ctx, key)
}

// watch wakes what a change of any record concerns.
func (d *Disruptor) watch() {
	d.records.members.OnChange(d.noteMember)
	d.records.seen.OnChange(d.noteMember)
	d.records.disruptions.OnChange(d.queue.Add)
	d.records.locks.OnChange(d.queue.Add)
	d.records.freezes.OnChange(func(string) { d.wakeAll() })
	d.records.runs.OnChange(d.noteRun)
	d.records.poolSpecs.OnChange(func(name string) { d.noteProvisioning(); d.wakePools([]string{name}) })
	d.records.pools.OnChange(func(name string) { d.wakePools([]string{name}) })
	d.records.catalogs.OnChange(func(string) { d.noteProvisioning() })
	d.records.objects.OnChange(func(name string) {
		if d.provisioning.noteObject(name) {
			d.wakeAll()
		}
	})
	d.store.Results.OnChange(d.heard)
	for _, name := range d.feed.Members() {
		d.queue.Add(name)
	}
}

// noteMember wakes a member whose labels or state may have changed, and the pools that may be its.
func (d *Disruptor) noteMember(name string) {
	d.queue.AddAt(name, d.options.Now().Add(settle))
	d.wakePools(names(d.records.poolSpecs))
}

func (d *Disruptor) noteProvisioning() {
	d.provisioning.changed()
	d.wakeAll()
}

// wakeAll has all members looked at soon.
func (d *Disruptor) wakeAll() {
	for _, name := range names(d.records.members) {
		d.queue.AddAt(name, d.options.Now().Add(settle))
	}
}

// wakePools has the records of pools looked at soon, but not more often than every few seconds.
func (d *Disruptor) wakePools(names []string) {
	for _, name := range names {
		at := d.options.Now().Add(settle)
		if last, ok := d.written.Load(name); ok {
			if next := last.(time.Time).Add(min(poolEvery, d.options.Interval)); next.After(at) {
				at = next
			}
		}
		d.queue.AddAt(poolKeyPrefix+name, at)
	}
}
