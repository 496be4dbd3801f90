package bus

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"
)

// mirror is the cache of one bucket. It is the sink of a feed, and takes own writes too; what is
// older than what it holds is ignored, so both may come in any order.
type mirror struct {
	mu      sync.RWMutex
	cells   map[string]cell
	current listing
	round   uint64 // of listings, from 1
	newest  uint64 // sequence taken in
	before  uint64 // newest when the listing began
	needed  uint64 // round from which on the mirror is whole again
	synced  bool
	// ready is closed, and told is true, once synced was told to those who wait: after all that the
	// listing changed was reported.
	ready chan struct{}
	told  bool
	// readable is when the bucket could last be read again after it could not.
	readable time.Time
	// changed is called with each key that came, changed or went, without a lock held.
	changed func(key string)
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
	round    uint64 // of the last listing that had it
}

func newMirror(changed func(string)) *mirror {
	return &mirror{cells: map[string]cell{}, ready: make(chan struct{}), changed: changed, observe: func(string, cell) {}}
}

func (m *mirror) begin() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.round++
	m.before = m.newest
}

// opened notes the listing. A stream whose newest sequence is below what was seen of it has lost
// writes: then whatever it lists now counts, however low its sequence.
func (m *mirror) opened(l listing) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.current = l
	if l.last >= m.before {
		return
	}
	m.newest = l.last
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

// take stores a message unless something at least as new is known of its key.
func (m *mirror) take(msg message) {
	m.mu.Lock()
	old, known := m.cells[msg.key]
	if known && msg.sequence <= old.sequence {
		old.round = m.round
		m.cells[msg.key] = old
		m.mu.Unlock()
		return
	}
	next := cell{
		value: msg.value, sequence: msg.sequence, stored: msg.stored, received: time.Now(),
		replayed: msg.replayed, deleted: msg.value == nil, note: msg.note, round: m.round,
	}
	m.cells[msg.key] = next
	m.newest = max(m.newest, next.sequence)
	silent := next.deleted && (!known || old.deleted)
	if !silent {
		m.observe(msg.key, next)
	}
	m.mu.Unlock()
	if !silent {
		m.changed(msg.key)
	}
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
	if !m.synced && m.round >= m.needed {
		m.synced = true
		m.readable = time.Now()
	}
	m.mu.Unlock()
	slices.Sort(gone)
	for _, key := range gone {
		m.changed(key)
	}
	m.tell()
}

// tell wakes who waits for the mirror to be whole, if it still is.
func (m *mirror) tell() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.synced && !m.told {
		m.told = true
		close(m.ready)
	}
}

func (m *mirror) lost() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.needed = m.round + 1
	m.synced = false
	if m.told {
		m.told = false
		m.ready = make(chan struct{})
	}
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

func (m *mirror) waitSynced(ctx context.Context) error {
	for {
		m.mu.RLock()
		whole, ready := m.synced && m.told, m.ready
		m.mu.RUnlock()
		if whole {
			return nil
		}
		select {
		case <-ready:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

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
