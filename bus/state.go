package bus

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"flotilla/bus/loop"
	"flotilla/subjects"
)

// State is the bucket of records: one watcher over all of it, with a cache. Its one order keeps a
// release from being seen before its spec.
type State struct {
	conn   *Conn
	mirror *mirror
	feed   *feed

	mu        sync.RWMutex
	tables    []view
	listeners []func(key string)
}

// view is a table without its type.
type view interface {
	prefix() string
	// observe takes a change under the lock of the mirror.
	observe(key string, c cell)
	// notify tells the listeners of the table that a key changed.
	notify(key string)
}

// NewState returns an empty State; Run fills it.
func NewState(c *Conn) *State {
	s := &State{conn: c}
	s.mirror = newMirror(s.changed)
	s.mirror.observe = s.observe
	s.feed = newFeed(c, bucketSource(c.Fleet, subjects.State), s.mirror)
	return s
}

// Run watches until ctx ends, over reconnects, server restarts and slow consumers; it relists after
// each of them and every hour, and wakes what differs.
func (s *State) Run(ctx context.Context) { s.feed.run(ctx) }

// Relist asks for a new listing and waits for it.
func (s *State) Relist(ctx context.Context) error {
	s.feed.missed("asked for")
	return s.WaitSynced(ctx)
}

// Synced says that the cache holds everything since the last (re)connect. Gather must refuse while false.
func (s *State) Synced() bool { return s.mirror.isSynced() }

// WaitSynced returns when Synced, or with ctx's error.
func (s *State) WaitSynced(ctx context.Context) error { return s.mirror.waitSynced(ctx) }

// A replica that is behind by more than a moment is asked again for a while.
const (
	reachTries = 10
	reachWait  = time.Second
)

// reach returns when all that was stored up to a message is listed: who leads must not decide on less than its own
// term was written on.
func (s *State) reach(ctx context.Context, sequence uint64, tries int, wait time.Duration) error {
	for try := 0; s.mirror.seen() < sequence; try++ {
		if try == tries {
			return fmt.Errorf("state is listed up to message %d, and %d was stored: the server that was asked is behind, or lost it", s.mirror.seen(), sequence)
		}
		loop.Pause(ctx, wait)
		if err := s.Relist(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Revision of a key, 0 when it does not exist.
func (s *State) Revision(key string) uint64 {
	c, ok := s.mirror.get(key)
	if !ok {
		return 0
	}
	return c.sequence
}

// Raw is the JSON of a key.
func (s *State) Raw(key string) (value []byte, revision uint64, ok bool) {
	c, ok := s.mirror.get(key)
	if !ok {
		return nil, 0, false
	}
	value, err := Unpack(c.value)
	return value, c.sequence, err == nil
}

// Keys with that prefix, sorted.
func (s *State) Keys(prefix string) []string { return s.mirror.keys(prefix) }

// Gone is the note that a record was deleted with, within 24 h; empty when there is none.
func (s *State) Gone(key string) (note string) { return s.mirror.gone(key) }

// OnChange registers f, called with the key of each record that came, changed or went, after tables hold the change.
// It must not block.
func (s *State) OnChange(f func(key string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listeners = append(slices.Clip(s.listeners), f)
}

// written enters an own acknowledged write into the cache; a nil value is a delete.
func (s *State) written(m message) { s.mirror.own(m) }

func (s *State) views() []view {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.tables
}

func (s *State) observe(key string, c cell) {
	for _, v := range s.views() {
		if strings.HasPrefix(key, v.prefix()) {
			v.observe(key, c)
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
