package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"flotilla/bus"
	"flotilla/bus/loop"
	"flotilla/bus/watch"
	"flotilla/subjects"
)

// State is the bucket of records: one watcher over all of it, with a cache. Its one order keeps a
// release from being seen before its spec.
type State struct {
	// Weights are what the records take in memory.
	Weights *watch.Weights

	conn   *bus.Conn
	mirror *watch.Mirror
	feed   *watch.Feed

	mu        sync.RWMutex
	tables    []view
	listeners []func(key string)

	own      own
	making   sync.Mutex // held while an inverse is made
	inverses map[subjects.Family]*Inverse
}

// view is a table without its type.
type view interface {
	prefix() string
	// observe takes a change under the lock of the mirror; own is the value that it was written from, nil where only the
	// stored form is known.
	observe(key string, c watch.Cell, own any)
	// notify tells the listeners of the table that a key changed.
	notify(key string)
}

// NewState returns an empty State; Run fills it.
func NewState(c *bus.Conn) *State {
	s := &State{conn: c, Weights: watch.NewWeights()}
	s.mirror = watch.NewMirror(s.changed)
	s.mirror.Observe = s.observe
	s.feed = watch.NewFeed(c, watch.BucketSource(c.Fleet, subjects.State), s.mirror)
	return s
}

// Run watches until ctx ends, over reconnects, server restarts and slow consumers; it relists after
// each of them and every hour, and wakes what differs.
func (s *State) Run(ctx context.Context) { s.feed.Run(ctx) }

// Relist asks for a new listing and waits for it.
func (s *State) Relist(ctx context.Context) error {
	s.feed.Missed("asked for")
	return s.WaitSynced(ctx)
}

// Synced says that the cache holds everything since the last (re)connect. Gather must refuse while false.
func (s *State) Synced() bool { return s.mirror.IsSynced() }

// WaitSynced returns when Synced, or with ctx's error.
func (s *State) WaitSynced(ctx context.Context) error { return s.mirror.WaitSynced(ctx) }

// A replica that is behind by more than a moment is asked again for a while.
const (
	reachTries = 10
	reachWait  = time.Second
)

// reach returns when all that was stored up to a message is listed: who leads must not decide on less than its own
// term was written on.
func (s *State) reach(ctx context.Context, sequence uint64, tries int, wait time.Duration) error {
	for try := 0; s.mirror.Seen() < sequence; try++ {
		if try == tries {
			return fmt.Errorf("state is listed up to message %d, and %d was stored: the server that was asked is behind, or lost it", s.mirror.Seen(), sequence)
		}
		loop.Pause(ctx, wait)
		if err := s.Relist(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Told is the newest revision up to which whoever listens has heard of every change of state.
func (s *State) Told() uint64 { return s.mirror.Told() }

// Revision of a key, 0 when it does not exist.
func (s *State) Revision(key string) uint64 {
	c, ok := s.mirror.Get(key)
	if !ok {
		return 0
	}
	return c.Sequence
}

// Raw is the JSON of a key.
func (s *State) Raw(key string) (value []byte, revision uint64, ok bool) {
	c, ok := s.mirror.Get(key)
	if !ok {
		return nil, 0, false
	}
	value, err := bus.Unpack(c.Value)
	return value, c.Sequence, err == nil
}

// StoredAt is when the record of a key was stored last, by the clock of the connection; zero when there is none.
func (s *State) StoredAt(ctx context.Context, key string) (time.Time, error) {
	f := s.conn.Fleet
	m, err := s.conn.LastMessage(ctx, f.BucketStream(subjects.State), f.BucketSubject(subjects.State, key))
	if err != nil || m == nil {
		return time.Time{}, err
	}
	return s.conn.FromMachine(m.Time), nil
}

// Keys with that prefix, sorted.
func (s *State) Keys(prefix string) []string { return s.mirror.Keys(prefix) }

// Gone is the note that a record was deleted with, within 24 h; empty when there is none.
func (s *State) Gone(key string) (note string) { return s.mirror.Gone(key) }

// OnChange registers f, called with the key of each record that came, changed or went, after tables hold the change.
// It must not block.
func (s *State) OnChange(f func(key string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listeners = append(slices.Clip(s.listeners), f)
}

// written enters an own acknowledged write into the cache; a nil value is a delete.
func (s *State) written(m watch.Message) { s.mirror.Own(m) }

func (s *State) views() []view {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.tables
}

func (s *State) observe(key string, c watch.Cell) {
	own, weight := s.own.of(key, c.Value)
	if own != nil {
		s.Weights.Put(key, weight)
	} else {
		c.Value = s.Weights.Take(key, c.Value) // tables need not unpack it once more
	}
	for _, v := range s.views() {
		if strings.HasPrefix(key, v.prefix()) {
			v.observe(key, c, own)
		}
	}
}

func (s *State) changed(key string) {
	for _, v := range s.views() {
		if strings.HasPrefix(key, v.prefix()) {
			v.notify(key)
		}
	}
	s.mu.RLock()
	listeners := s.listeners
	s.mu.RUnlock()
	for _, f := range listeners {
		f(key)
	}
}
