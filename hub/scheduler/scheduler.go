package scheduler

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
	"flotilla/core/schedule"
	"flotilla/subjects"
)

// workers is how many placements are decided at once.
const workers = 4

// behind is when a key is looked at again whose cache was behind, or for which there was no room.
const behind = time.Second

// settle is how long changes of members are gathered before placements are decided: many come at once.
const settle = 20 * time.Millisecond

// defaultPause is the least time between two decisions that only properties or verdicts ask for.
const defaultPause = 15 * time.Second

// Keys of the queue are "placement:<placement>", "member:<member>" and "eviction:<eviction>".
const (
	placementKey = "placement:"
	memberKey    = "member:"
	evictionKey  = "eviction:"
)

// Options of a Scheduler. The zero value is for production.
type Options struct {
	// Thresholds of eligibility, five minutes each where they are 0 (D21).
	Thresholds schedule.Thresholds
	// Pause is the least time between two decisions of one placement that changed properties, or
	// verdicts alone, ask for; 15 s when 0.
	Pause time.Duration
	// Full says that there is no room for what is decided of placements of which nothing is; nil: never.
	Full func() bool
	// Runs is told of every key that is looked at; nil tells nobody.
	Runs func(key string)
	Log  zerolog.Logger
}

// Scheduler decides placements during one term of leadership.
type Scheduler struct {
	store   *store.Store
	options Options
	records *records
	queue   *loop.Queue

	mu      sync.RWMutex // of fleet and drained
	fleet   *schedule.Fleet
	drained map[string]bool // members that are

	interests interests
	// news are the members whose records changed and that the fleet does not show yet. A decision takes them in first, so
	// that it never starts from a fleet older than the placement it decides.
	news      loop.Names
	following sync.Mutex // held while the fleet is brought in step
	echoes    echoes
}

// New returns a scheduler on an open store; it writes nothing before Run.
func New(store *store.Store, o Options) *Scheduler {
	if o.Full == nil {
		o.Full = func() bool { return false }
	}
	if o.Pause == 0 {
		o.Pause = defaultPause
	}
	s := &Scheduler{store: store, options: o, records: newRecords(store), fleet: schedule.NewFleet(), drained: map[string]bool{}}
	s.interests.of = map[string]*interest{}
	s.echoes.writing = map[string]bool{}
	s.queue = loop.New(loop.Options{Workers: workers, Now: store.Now, Failed: s.failed, Runs: o.Runs})
	return s
}

// Run decides until ctx ends.
func (s *Scheduler) Run(ctx context.Context) error {
	if err := s.store.State.WaitSynced(ctx); err != nil {
		return fmt.Errorf("starting to schedule: %w", err)
	}
	s.load()
	placement := func(name string) { s.queue.Add(placementKey + name) }
	member := func(name string) {
		s.news.Add(name)
		s.queue.Add(memberKey + name)
	}
	s.records.placements.OnChange(placement)
	// What a broker lost of what was decided, or set back, is written again.
	lost := func(name string) {
		if s.echoes.hears(name) {
			placement(name)
		}
	}
	s.records.schedules.OnChange(lost)
	s.records.verdicts.OnChange(lost)
	s.records.members.OnChange(member)
	s.records.seen.OnChange(member)
	s.watchEvictions()
	s.queue.Run(ctx, s.work)
	return nil
}

// load fills the fleet at once, before anything is decided. Members that cannot be read are left to
// follow, which tells of them and tries again (D5).
func (s *Scheduler) load() {
	now := s.store.Now()
	var members []api.Member
	for _, entry := range s.records.members.All() {
		if m, err := s.records.member(entry.Name, now); err == nil {
			members = append(members, m)
			s.noteDrain(&m)
		}
	}
	s.fleet = schedule.NewFleet(members...)
}

func (s *Scheduler) failed(key string, err error, delay time.Duration) {
	s.options.Log.Warn().Err(err).Str("key", key).Dur("retry", delay).Msg("scheduling")
}

func (s *Scheduler) work(ctx context.Context, key string) (time.Time, error) {
	if !s.store.State.Synced() {
		return s.store.Now().Add(behind), nil
	}
	if member, isMember := strings.CutPrefix(key, memberKey); isMember {
		s.following.Lock()
		defer s.following.Unlock()
		return time.Time{}, s.follow(member)
	}
	s.catchUp()
	if name, isEviction := strings.CutPrefix(key, evictionKey); isEviction {
		if !s.store.Results.Synced() {
			return s.store.Now().Add(behind), nil
		}
		return time.Time{}, s.evict(ctx, name)
	}
	return s.place(ctx, strings.TrimPrefix(key, placementKey))
}

// place gathers what a placement depends on, decides, and acts.
func (s *Scheduler) place(ctx context.Context, name string) (time.Time, error) {
	if s.isNew(name) && s.options.Full() {
		return s.store.Now().Add(behind), nil
	}
	g, found, err := s.gather(name)
	if err != nil {
		return time.Time{}, err
	}
	if !found {
		s.interests.drop(name)
		return time.Time{}, s.forget(ctx, name)
	}
	waits := s.drain(g)
	plan, err := s.decide(g)
	if err != nil {
		return time.Time{}, err
	}
	s.interests.set(name, interestIn(&g.in, &plan, waits))
	s.echoes.deafen(name, true)
	left, err := s.act(ctx, g, &plan)
	s.echoes.deafen(name, false)
	if err == nil && s.records.decided(name) != left {
		s.queue.Add(placementKey + name)
	}
	if waits && !s.store.Results.Synced() {
		return s.store.Now().Add(behind), err
	}
	return plan.Recheck, err
}

// isNew says that nothing was decided of a placement yet, and that it is to stay. What is decided of one takes many times what it says
// itself.
func (s *Scheduler) isNew(name string) bool {
	spec, _, found := s.records.placements.Get(name)
	return found && spec.Deleted == nil && s.records.schedules.Revision(name) == 0 && s.records.releases.Revision(name) == 0
}

func (s *Scheduler) decide(g *gathered) (schedule.Plan, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.records.check(g, s.fleet); err != nil {
		return schedule.Plan{}, err
	}
	g.in.Fleet = s.fleet
	return schedule.Schedule(g.in), nil
}

// address is the placement's name in events.
func address(name string) string { return subjects.KindPlacement + "/" + name }
