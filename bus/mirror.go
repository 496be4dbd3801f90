package bus

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// mirror is the cache of one bucket. It is the sink of a feed, and takes own writes too; what is
// older than what it holds is ignored, so both may come in any order.
type mirror struct {
	mu    sync.RWMutex
	cells map[string]cell
	// telling are the keys whose change is being told.
	telling map[string]*telling
	passes
	// changed is called with each key that came, changed or went, without a lock held.
	changed func(key string)
	// whole is called, not to block, after each listing.
	whole func()
	// observe is called under the lock before changed, in the order of changes.
	observe func(key string, c cell)
}

// cell is the newest thing known of a key.
type cell struct {
	value    []byte // as stored
	sequence uint64
	stored   time.Time
	received time.Time
	replayed bool
	deleted  bool
	note     string // of a deletion
	tally    string // that it was written with
	round    uint64 // of the last listing that had it
}

// telling is a change of a key on its way to those who listen.
type telling struct {
	changes int
	over    chan struct{} // closed when all were told, nil while nobody waits for that
}

func newMirror(changed func(string)) *mirror {
	return &mirror{cells: map[string]cell{}, telling: map[string]*telling{}, passes: newPasses(), changed: changed, whole: func() {}, observe: func(string, cell) {}}
}

func (m *mirror) begin() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.next()
}

func (m *mirror) opened(l listing) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.against(l) {
		return
	}
	for key, c := range m.cells {
		c.sequence = 0
		m.cells[key] = c
	}
}

func (m *mirror) message(msg message) {
	if strings.ContainsAny(msg.key, "*>") {
		return
	}
	m.take(msg)
}

// own takes an acknowledged write of our own. Who listens has heard of it when own returns, also when the
// watcher brought it first: it is not told twice.
func (m *mirror) own(msg message) {
	if m.take(msg) {
		return
	}
	m.mu.Lock()
	t := m.telling[msg.key]
	if t != nil && t.over == nil {
		t.over = make(chan struct{})
	}
	m.mu.Unlock()
	if t != nil {
		<-t.over
	}
}

// tellOf tells of the change of a key that was begun under the lock.
func (m *mirror) tellOf(key string, t *telling) {
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
func (m *mirror) tells(key string) *telling {
	t := m.telling[key]
	if t == nil {
		t = &telling{}
		m.telling[key] = t
	}
	t.changes++
	return t
}

// take stores a message, and tells of it, unless something at least as new is known of its key; then it
// answers false.
func (m *mirror) take(msg message) bool {
	m.mu.Lock()
	old, known := m.cells[msg.key]
	if known && msg.sequence <= old.sequence {
		old.round = m.round
		m.cells[msg.key] = old
		m.mu.Unlock()
		return false
	}
	next := cell{
		value: msg.value, sequence: msg.sequence, stored: msg.stored, received: time.Now(),
		replayed: msg.replayed, deleted: msg.value == nil, note: msg.note, tally: msg.tally, round: m.round,
	}
	m.cells[msg.key] = next
	m.newest = max(m.newest, next.sequence)
	if next.deleted && (!known || old.deleted) {
		m.mu.Unlock()
		return true
	}
	m.observe(msg.key, next)
	t := m.tells(msg.key)
	m.mu.Unlock()
	m.tellOf(msg.key, t)
	return true
}

func (m *mirror) listed() {
	m.mu.Lock()
	var gone []string
	for key, c := range m.cells {
		if c.round == m.round {
			continue
		}
		delete(m.cells, key)
		if !c.deleted {
			m.observe(key, cell{deleted: true, sequence: c.sequence})
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

// onWhole registers f for m.whole.
func (m *mirror) onWhole(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.whole = f
}

func (m *mirror) lost() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.miss()
}

// forget removes a key that was purged up to a sequence.
func (m *mirror) forget(key string, sequence uint64) {
	m.mu.Lock()
	c, known := m.cells[key]
	gone := known && c.sequence <= sequence
	if gone {
		delete(m.cells, key)
		m.observe(key, cell{deleted: true, sequence: sequence})
	}
	m.mu.Unlock()
	if gone {
		m.changed(key)
	}
}

func (m *mirror) get(key string) (cell, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	c, ok := m.cells[key]
	return c, ok && !c.deleted
}

func (m *mirror) gone(key string) string {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.cells[key].note
}

func (m *mirror) keys(prefix string) []string {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var keys []string
	for key, c := range m.cells {
		if !c.deleted && strings.HasPrefix(key, prefix) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

func (m *mirror) isSynced() bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.synced
}

// seen is the newest sequence that was taken in.
func (m *mirror) seen() uint64 {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.newest
}

func (m *mirror) waitSynced(ctx context.Context) error { return m.waitWhole(ctx, m.mu.RLocker()) }

// snapshot is all that is there now, by key.
func (m *mirror) snapshot() map[string]cell {
	m.mu.RLock()
	defer m.mu.RUnlock()
	cells := make(map[string]cell, len(m.cells))
	for key, c := range m.cells {
		if !c.deleted {
			cells[key] = c
		}
	}
	return cells
}

// all is everything known, markers of deleted keys included, by key.
func (m *mirror) all() map[string]cell {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return maps.Clone(m.cells)
}

// hold calls f with everything known while nothing changes.
func (m *mirror) hold(f func(cells map[string]cell)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f(m.cells)
}
