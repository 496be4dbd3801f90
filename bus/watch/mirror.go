package watch

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// Mirror is the cache of one bucket. It is the sink of a feed, and takes own writes too; what is
// older than what it holds is ignored, so both may come in any order.
type Mirror struct {
	mu    sync.RWMutex
	cells map[string]Cell
	// telling are the keys whose change is being told.
	telling map[string]*telling
	passes
	// changed is called with each key that came, changed or went, without a lock held.
	changed func(key string)
	// whole is called, not to block, after each listing.
	whole func()
	// Observe is called under the lock before changed, in the order of changes.
	Observe func(key string, c Cell)
}

// Cell is the newest thing known of a key.
type Cell struct {
	Value    []byte // as stored
	Sequence uint64
	stored   time.Time
	received time.Time
	replayed bool
	Deleted  bool
	Note     string // of a deletion
	Tally    string // that it was written with
	round    uint64 // of the last listing that had it
}

// telling is a change of a key on its way to those who listen.
type telling struct {
	changes int
	from    uint64        // the sequence of the first of them
	over    chan struct{} // closed when all were told, nil while nobody waits for that
}

// NewMirror is empty; changed is called with each key that came, changed or went, and must not block.
func NewMirror(changed func(string)) *Mirror {
	return &Mirror{cells: map[string]Cell{}, telling: map[string]*telling{}, passes: newPasses(), changed: changed, whole: func() {}, Observe: func(string, Cell) {}}
}

func (m *Mirror) begin() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.next()
}

func (m *Mirror) opened(l listing) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.against(l) {
		return
	}
	for key, c := range m.cells {
		c.Sequence = 0
		m.cells[key] = c
	}
}

func (m *Mirror) message(msg Message) {
	if strings.ContainsAny(msg.Key, "*>") {
		return
	}
	m.take(msg)
}

// Own takes an acknowledged write of our own. Who listens has heard of it when own returns, also when the
// watcher brought it first: it is not told twice.
func (m *Mirror) Own(msg Message) {
	if m.take(msg) {
		return
	}
	m.mu.Lock()
	t := m.telling[msg.Key]
	if t != nil && t.over == nil {
		t.over = make(chan struct{})
	}
	m.mu.Unlock()
	if t != nil {
		<-t.over
	}
}

// tellOf tells of the change of a key that was begun under the lock.
func (m *Mirror) tellOf(key string, t *telling) {
	m.changed(key)
	m.mu.Lock()
	defer m.mu.Unlock()
	if t.changes--; t.changes > 0 {
		return
	}
	delete(m.telling, key)
	if t.over != nil {
		close(t.over)
	}
}

// tells begins to tell of a change of a key; the lock is held.
func (m *Mirror) tells(key string, sequence uint64) *telling {
	t := m.telling[key]
	if t == nil {
		t = &telling{from: sequence}
		m.telling[key] = t
	}
	t.changes++
	return t
}

// take stores a message, and tells of it, unless something at least as new is known of its key; then it
// answers false.
func (m *Mirror) take(msg Message) bool {
	m.mu.Lock()
	old, known := m.cells[msg.Key]
	if known && msg.Sequence <= old.Sequence {
		old.round = m.round
		m.cells[msg.Key] = old
		m.mu.Unlock()
		return false
	}
	next := Cell{
		Value: msg.Value, Sequence: msg.Sequence, stored: msg.stored, received: time.Now(),
		replayed: msg.replayed, Deleted: msg.Value == nil, Note: msg.Note, Tally: msg.tally, round: m.round,
	}
	m.cells[msg.Key] = next
	m.newest = max(m.newest, next.Sequence)
	if next.Deleted && (!known || old.Deleted) {
		m.mu.Unlock()
		return true
	}
	m.Observe(msg.Key, next)
	t := m.tells(msg.Key, msg.Sequence)
	m.mu.Unlock()
	m.tellOf(msg.Key, t)
	return true
}

func (m *Mirror) listed() {
	m.mu.Lock()
	var gone []string
	for key, c := range m.cells {
		if c.round == m.round {
			continue
		}
		delete(m.cells, key)
		if !c.Deleted {
			m.Observe(key, Cell{Deleted: true, Sequence: c.Sequence})
			gone = append(gone, key)
		}
	}
	m.end()
	m.mu.Unlock()
	slices.Sort(gone)
	for _, key := range gone {
		m.changed(key)
	}
	m.mu.Lock()
	m.tell()
	whole := m.whole
	m.mu.Unlock()
	whole()
}

// OnWhole registers f for m.whole.
func (m *Mirror) OnWhole(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.whole = f
}

func (m *Mirror) lost() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.miss()
}

// forget removes a key that was purged up to a sequence.
func (m *Mirror) forget(key string, sequence uint64) {
	m.mu.Lock()
	c, known := m.cells[key]
	gone := known && c.Sequence <= sequence
	if gone {
		delete(m.cells, key)
		m.Observe(key, Cell{Deleted: true, Sequence: sequence})
	}
	m.mu.Unlock()
	if gone {
		m.changed(key)
	}
}

// Get returns what is known of a key, false when it is not there.
func (m *Mirror) Get(key string) (Cell, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	c, ok := m.cells[key]
	return c, ok && !c.Deleted
}

// Gone is the note that a key was deleted with.
func (m *Mirror) Gone(key string) string {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.cells[key].Note
}

// Keys with that prefix, sorted.
func (m *Mirror) Keys(prefix string) []string {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var keys []string
	for key, c := range m.cells {
		if !c.Deleted && strings.HasPrefix(key, prefix) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// IsSynced says that the mirror holds everything since the last (re)connect.
func (m *Mirror) IsSynced() bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.synced
}

// Seen is the newest sequence that was taken in.
func (m *Mirror) Seen() uint64 {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.newest
}

// Told is the newest sequence up to which whoever listens has heard of every change.
func (m *Mirror) Told() uint64 {
	m.mu.RLock()
	defer m.mu.RUnlock()
	told := m.newest
	for _, t := range m.telling {
		told = min(told, t.from-1)
	}
	return told
}

// WaitSynced returns when IsSynced, or with ctx's error.
func (m *Mirror) WaitSynced(ctx context.Context) error { return m.waitWhole(ctx, m.mu.RLocker()) }

// Snapshot is all that is there now, by key.
func (m *Mirror) Snapshot() map[string]Cell {
	m.mu.RLock()
	defer m.mu.RUnlock()
	cells := make(map[string]Cell, len(m.cells))
	for key, c := range m.cells {
		if !c.Deleted {
			cells[key] = c
		}
	}
	return cells
}

// All is everything known, markers of deleted keys included, by key.
func (m *Mirror) All() map[string]Cell {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return maps.Clone(m.cells)
}

// Hold calls f with everything known while nothing changes.
func (m *Mirror) Hold(f func(cells map[string]Cell)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f(m.cells)
}
