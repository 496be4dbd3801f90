package dispatcher

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"flotilla/bus"
	"flotilla/bus/loop"
	"flotilla/bus/store"
	"flotilla/bus/streams"
	"flotilla/core/api"
	"flotilla/core/upgrade"
	"flotilla/subjects"
)

// DefaultInterval is how long a member waits at least between two commands.
const DefaultInterval = 200 * time.Millisecond

// workers is how many members are written to at once.
const workers = 8

// Options of a Dispatcher. The zero value is for production.
type Options struct {
	// Interval is DefaultInterval when 0.
	Interval time.Duration
	// Level is that of the commands it writes, api.Level when 0.
	Level int
	// Runs is told of every key that is looked at; nil tells nobody.
	Runs func(key string)
	Log  zerolog.Logger
}

// Dispatcher publishes commands during one term of leadership.
type Dispatcher struct {
	store      *store.Store
	options    Options
	releases   *store.Table[api.Release]
	specs      *store.Table[api.Spec]
	runs       *store.Table[api.UpdateRunStatus]
	members    *store.Table[api.Spec]
	seen       *store.Table[api.MemberRecord]
	records    *store.Table[api.DisruptionRecord]
	identities *store.Table[api.Identity]
	queue      *loop.Queue
	index      *index
	operations *operations
	sent       *sent
	following  sync.Mutex // from reading a release to its place in the index
	unfollowed loop.Names
}

// Keys of the queue are "release:<placement>", "run:<run>", "placement:<member>", "upgrade:<member>",
// "disruption:<member>" and "heads".
const (
	releaseKey = "release:"
	runKey     = "run:"
	headsKey   = "heads"
)

func (a address) key() string { return a.kind + ":" + a.member }

// New returns a dispatcher on an open store; it publishes nothing before Run.
func New(leader *store.Store, o Options) *Dispatcher {
	if o.Interval == 0 {
		o.Interval = DefaultInterval
	}
	if o.Level == 0 {
		o.Level = api.Level
	}
	a := leader.State.As(subjects.Dispatcher)
	d := &Dispatcher{
		store: leader, options: o, index: newIndex(leader.Keys.Sum), operations: newOperations(), sent: newSent(),
		releases: store.Reads[api.Release](a, subjects.Releases),
		specs:    store.Reads[api.Spec](a, subjects.RunSpecs),
		runs:     store.Reads[api.UpdateRunStatus](a, subjects.Runs),
		members:  store.Reads[api.Spec](a, subjects.MemberSpecs),
		seen:     store.Reads[api.MemberRecord](a, subjects.Members),
		records:  store.Reads[api.DisruptionRecord](a, subjects.Disruptions),

		identities: store.Reads[api.Identity](a, subjects.Identities),
	}
	d.queue = loop.New(loop.Options{Workers: workers, Now: leader.Now, Failed: d.failed, Runs: o.Runs})
	return d
}

// Run publishes until ctx ends. It reads the heads of all stored commands first, so that what is stored
// already is not sent again.
func (d *Dispatcher) Run(ctx context.Context) error {
	if err := d.store.State.WaitSynced(ctx); err != nil {
		return fmt.Errorf("starting to dispatch: %w", err)
	}
	heads, err := d.store.Commands.List(ctx)
	if err != nil {
		return fmt.Errorf("listing commands: %w", err)
	}
	for _, head := range heads {
		d.sent.remember(head)
	}
	d.listen()
	d.specs.OnChange(func(name string) { d.queue.Add(runKey + name) })
	d.runs.OnChange(func(name string) { d.queue.Add(runKey + name) })
	d.seen.OnChange(d.noteRecord)
	d.members.OnChange(d.noteMember)
	d.identities.OnChange(func(member string) { d.queue.Add(address{member, subjects.CommandPlacement}.key()) })
	d.records.OnChange(func(member string) { d.queue.Add(address{member, subjects.CommandDisruption}.key()) })
	// Every release and run is in before the first command goes out: a command made of half of them
	// would lack placements, or take back an upgrade that runs.
	for _, release := range d.releases.All() {
		if err := d.follow(release.Name); err != nil {
			d.failed(releaseKey+release.Name, err, 0)
		}
	}
	for _, run := range d.runs.All() {
		if err := d.followRun(run.Name); err != nil {
			d.failed(runKey+run.Name, err, 0)
		}
	}
	for _, head := range heads {
		if slices.Contains(subjects.CommandKinds(), head.Kind) {
			d.queue.Add(address{head.Member, head.Kind}.key())
		}
	}
	defer d.store.Conn.OnReconnect(func() { d.queue.Add(headsKey) })()
	d.queue.Run(ctx, d.work)
	return nil
}

// listen notes each release that changes.
func (d *Dispatcher) listen() {
	d.releases.OnChange(func(name string) {
		d.unfollowed.Add(name)
		d.queue.Add(releaseKey + name)
	})
}

func (d *Dispatcher) failed(key string, err error, delay time.Duration) {
	d.options.Log.Warn().Err(err).Str("key", key).Dur("retry", delay).Msg("dispatching")
}

// noteRecord wakes a member whose agent holds an index newer than any that was sent, or was updated
// since it was too old for its commands.
func (d *Dispatcher) noteRecord(member string) {
	record, _, found := d.seen.Get(member)
	if !found {
		d.noteMember(member)
		return
	}
	placement := address{member, subjects.CommandPlacement}
	outdated := d.sent.outdated(member, record.AgentLevel)
	if outdated || record.Holds.Compare(d.sent.head(placement).Order) > 0 {
		d.queue.Add(placement.key())
	}
	if outdated {
		d.queue.Add(address{member, subjects.CommandUpgrade}.key())
		d.queue.Add(address{member, subjects.CommandDisruption}.key())
	}
}

func (d *Dispatcher) work(ctx context.Context, key string) (time.Time, error) {
	if key == headsKey {
		return time.Time{}, d.compare(ctx)
	}
	if placement, isRelease := strings.CutPrefix(key, releaseKey); isRelease {
		return time.Time{}, d.follow(placement)
	}
	if run, isRun := strings.CutPrefix(key, runKey); isRun {
		return time.Time{}, d.followRun(run)
	}
	kind, member, _ := strings.Cut(key, ":")
	return d.dispatch(ctx, address{member, kind})
}

// follow takes a release into the index and wakes the members it changed.
func (d *Dispatcher) follow(placement string) error {
	d.following.Lock()
	defer d.following.Unlock()
	d.unfollowed.Remove(placement)
	var current *api.Release
	release, _, found, err := d.releases.Find(placement)
	if err != nil {
		return err // its entries stay as they were
	}
	if found {
		current = &release
	}
	for _, member := range d.index.set(placement, current) {
		d.queue.Add(address{member, subjects.CommandPlacement}.key())
	}
	return nil
}

// followRun takes over the operations of a run and wakes the members they changed. A run whose spec is
// gone, or of another object, commands nothing.
func (d *Dispatcher) followRun(name string) error {
	var wanted []upgrade.Wanted
	status, _, found, err := d.runs.Find(name)
	if err != nil {
		return err // its operations stay as they were
	}
	spec, _, specified, err := d.specs.Find(name)
	if err != nil {
		return err
	}
	if found && specified && spec.UID == status.UID {
		run, err := api.SpecOf[api.UpdateRun](&spec)
		if err != nil {
			return err
		}
		wanted = upgrade.Operations(run, &status)
	}
	for _, member := range d.operations.set(name, wanted) {
		d.queue.Add(address{member, subjects.CommandUpgrade}.key())
	}
	return nil
}

// dispatch publishes the command of an address when it is not what was sent there, or when the agent holds
// something newer, or may: a command that was lost after it was sent. No order is given twice.
func (d *Dispatcher) dispatch(ctx context.Context, to address) (time.Time, error) {
	if !d.store.State.Synced() {
		return time.Time{}, bus.ErrNotSynced
	}
	now := d.store.Now()
	if free := d.sent.freeAt(to, d.options.Interval); now.Before(free) {
		return free, nil
	}
	if d.sent.doubted(to) {
		if err := d.reread(ctx, to); err != nil {
			return time.Time{}, err
		}
	}
	head := d.sent.head(to)
	record, _, _ := d.seen.Get(to.member)
	wanted, err := d.wanted(to)
	if err != nil {
		return time.Time{}, err
	}
	if wanted.empty && !wanted.lasting && d.left(to.member) {
		return time.Time{}, d.forget(ctx, to)
	}
	held, last := d.held(to, &record), d.sent.last(to)
	behind, done := standing(&head, &wanted, last, held)
	if done {
		d.index.stored(to.member, wanted.index.at)
		return time.Time{}, nil
	}
	if !d.readable(to, &wanted, record.AgentLevel) {
		return time.Time{}, nil
	}
	order := following(d.store.Term, last, held)
	if to.kind == subjects.CommandPlacement {
		return time.Time{}, d.publishIndex(ctx, to, &wanted, order, behind, now)
	}
	return time.Time{}, d.publish(ctx, to, &wanted, order, now)
}

// standing says whether what is stored is behind what its member may hold, by the newest order that was given and the one that its agent
// says it holds, and whether it is what is wanted.
func standing(head *streams.CommandHead, wanted *command, given, held api.Order) (behind, done bool) {
	lost := given.Compare(head.Order) > 0
	behind = lost || held.Compare(head.Order) > 0
	if head.Sequence == 0 {
		return behind, wanted.empty && !lost
	}
	return behind, wanted.digest == head.Digest && !behind
}

// held is the order that the agent says it holds; none when no hub can have given it that one.
func (d *Dispatcher) held(to address, record *api.MemberRecord) api.Order {
	if to.kind != subjects.CommandPlacement {
		return api.Order{}
	}
	if !d.store.Credible(record.Holds) {
		d.options.Log.Warn().Str("member", to.member).Uint64("epoch", record.Holds.Epoch).Uint64("term", record.Holds.Term).
			Msg("its agent claims to hold an order that no hub gave it: not followed")
		return api.Order{}
	}
	return record.Holds
}

func (d *Dispatcher) publish(ctx context.Context, to address, wanted *command, order api.Order, now time.Time) error {
	head := streams.CommandHead{Member: to.member, Kind: to.kind, Digest: wanted.digest, Order: order, To: wanted.to}
	var err error
	head.Sequence, err = d.store.Commands.Publish(ctx, head, wanted.ordered(order), d.sent.head(to).Sequence)
	head.Newest = head.Sequence
	return d.published(to, &head, 0, err, now)
}

// published notes what was stored at an address, or that it is not known what is; at is when its index was looked at.
func (d *Dispatcher) published(to address, head *streams.CommandHead, at uint64, err error, now time.Time) error {
	if err != nil {
		d.sent.unknown(to, head.Order)
		return fmt.Errorf("publishing the %s command of %s: %w", to.kind, to.member, err)
	}
	d.sent.remember(*head)
	d.sent.at(to, now)
	if to.kind == subjects.CommandPlacement {
		d.index.stored(to.member, at)
	}
	return nil
}
