package page

import (
	"context"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus/loop"
	"flotilla/core/api"
	"flotilla/core/overview"
)

const (
	// freshEvery is how often the fleet is read at most, however often it changes.
	freshEvery = 250 * time.Millisecond
	// lookedFor is for how long the fleet is followed after somebody looked.
	lookedFor = 30 * time.Second
	// wakeEvery is how long one wait for changes takes.
	wakeEvery = 10 * time.Second
	// lagging is how long one takes while a newer status of the fleet is made.
	lagging = 1500 * time.Millisecond
	// askWithin bounds one reading of the fleet.
	askWithin = 10 * time.Second
)

// sight is the fleet as it was read last.
type sight struct {
	*overview.Fleet
	// Stale is why it could not be read anew, empty while it can; At of the fleet says since when.
	Stale string
	// turn counts readings, so that each has a number of its own.
	turn uint64
}

// survey follows the fleet while anybody looks at it, once for everybody.
type survey struct {
	door  Door
	by    api.Caller
	now   func() time.Time
	begin chan struct{} // somebody looks
	moved time.Time     // when the fleet was last seen to change, for who follows it

	mu      sync.Mutex
	seen    *sight
	follows bool          // seen is the newest there is
	changed chan struct{} // closed and replaced at each reading
	looked  time.Time
	ended   chan struct{}
}

func newSurvey(ctx context.Context, o Options) *survey {
	s := &survey{
		door: o.Door, by: reader(o.Replica), now: o.Now, begin: make(chan struct{}, 1), changed: make(chan struct{}), ended: make(chan struct{}),
	}
	go func() {
		defer close(s.ended)
		s.run(ctx)
	}()
	return s
}

// reader is as whom the page reads what it shows everybody. Nobody has that name.
func reader(replica string) api.Caller {
	return api.Caller{Name: "page of " + replica, Role: api.RoleViewer, Request: "page"}
}

func (s *survey) wait() { <-s.ended }

// look says that somebody looks, and returns the newest sight where the fleet is followed; nil where it is to be read first.
func (s *survey) look() (seen *sight, changed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looked = s.now()
	select {
	case s.begin <- struct{}{}:
	default:
	}
	if s.follows {
		seen = s.seen
	}
	return seen, s.changed
}

// newest returns the newest sight, nil before the first, and what is closed when there is a newer one.
func (s *survey) newest() (*sight, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen, s.changed
}

// fresh is the fleet of this moment: as it is followed, or read now where nobody looked of late.
func (s *survey) fresh(ctx context.Context) (*sight, error) {
	ctx, cancel := context.WithTimeout(ctx, askWithin+time.Second)
	defer cancel()
	seen, changed := s.look()
	if seen == nil {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-s.ended:
			return nil, context.Canceled
		case <-changed:
		}
		seen, _ = s.newest()
	}
	if seen.At.IsZero() {
		return nil, &api.Failure{Code: api.CodeUnavailable, Message: "the fleet cannot be read now: " + seen.Stale, Next: "flotilla status"}
	}
	return seen, nil
}

// run follows the fleet while somebody looks.
func (s *survey) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.begin:
		}
		for mark := ""; ctx.Err() == nil && !s.rests(); {
			mark = s.turn(ctx, mark)
		}
	}
}

// rests says that nobody looked for a while: whoever looks next has the fleet read first.
func (s *survey) rests() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now().Sub(s.looked) < lookedFor {
		return false
	}
	s.follows = false
	return true
}

// turn waits for a change after a mark, or for a while, and reads the fleet. Where nothing changed what is drawn is as it was,
// but for ages.
func (s *survey) turn(ctx context.Context, after string) (mark string) {
	began := s.now()
	var news api.WatchResponse
	err := s.ask(ctx, wakeEvery+askWithin, api.VerbWatch, watched(after, s.patience()), &news)
	if news.Changed {
		s.moved = s.now()
	}
	fleet := &overview.Fleet{}
	if err == nil {
		err = s.ask(ctx, askWithin, api.VerbFleet, struct{}{}, fleet)
	}
	if err != nil {
		s.show(func(seen *sight) *sight { return &sight{Fleet: seen.Fleet, Stale: err.Error()} })
		loop.Pause(ctx, time.Second)
		return ""
	}
	s.show(func(*sight) *sight { return &sight{Fleet: fleet} })
	loop.Pause(ctx, freshEvery-s.now().Sub(began))
	return news.Mark
}

// patience is how long to wait for a change: less where the status of the fleet, which is judged beside its rows, is from before a change.
func (s *survey) patience() time.Duration {
	seen, _ := s.newest()
	if seen != nil && seen.Stale == "" && seen.StatusAt.Time.Before(s.moved) {
		return lagging
	}
	return wakeEvery
}

func (s *survey) ask(ctx context.Context, within time.Duration, verb string, question, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	return s.door.Ask(ctx, s.by, verb, question, answer)
}

// watched is everything that a screen shows.
func watched(after string, wait time.Duration) *api.WatchRequest {
	return &api.WatchRequest{
		After: after, Events: true, Wait: metav1.Duration{Duration: wait},
		Kinds: []api.WatchedKind{
			{Kind: api.KindMemberCluster},
			{Kind: api.KindClusterResourcePlacement},
			{Kind: api.KindGate},
			{Kind: api.KindUpdateRun},
			{Kind: api.KindNodePool},
			{Kind: api.KindNodeDisruption},
		},
	}
}

// show makes the newest sight out of the one before, which is empty at first.
func (s *survey) show(next func(*sight) *sight) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.seen
	if before == nil {
		before = &sight{Fleet: &overview.Fleet{}}
	}
	s.seen = next(before)
	s.seen.turn = before.turn + 1
	s.follows = true
	close(s.changed)
	s.changed = make(chan struct{})
}

// again shows the newest sight once more, where something else on screens is another one.
func (s *survey) again() {
	s.mu.Lock()
	follows := s.follows
	s.mu.Unlock()
	if follows {
		s.show(func(seen *sight) *sight { return &sight{Fleet: seen.Fleet, Stale: seen.Stale} })
	}
}
