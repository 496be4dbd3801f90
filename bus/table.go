package bus

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"flotilla/subjects"

	"github.com/rs/zerolog"
)

// Table is the typed view of one family of records. T is decoded once per update; values are shared
// between all readers and must not be changed. A record that cannot be decoded is logged, listed by
// Broken, and otherwise as if it were not there.
type Table[T any] struct {
	family subjects.Family
	log    zerolog.Logger

	mu        sync.RWMutex
	entries   map[string]Entry[T]            // by name
	groups    map[string]map[string]struct{} // names by group
	broken    map[string]error
	listeners []func(name string)
}

// Entry is one record of a table.
type Entry[T any] struct {
	Name     string
	Value    T
	Revision uint64
}

// TableOf returns the table of a family; every call for the same family and T returns the same one.
func TableOf[T any](s *State, family subjects.Family) *Table[T] {
	s.mirror.mu.Lock()
	defer s.mirror.mu.Unlock()
	for _, v := range s.views() {
		if t, ok := v.(*Table[T]); ok && t.family == family {
			return t
		}
	}
	t := &Table[T]{
		family: family, log: s.conn.Log,
		entries: map[string]Entry[T]{}, groups: map[string]map[string]struct{}{}, broken: map[string]error{},
	}
	for key, c := range s.mirror.cells {
		if !c.deleted && strings.HasPrefix(key, family.Prefix()) {
			t.observe(key, c)
		}
	}
	s.mu.Lock()
	s.tables = append(slices.Clip(s.tables), t)
	s.mu.Unlock()
	return t
}

// Get returns the record called name; its revision is 0 and ok false when there is none.
func (t *Table[T]) Get(name string) (value T, revision uint64, ok bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	e, ok := t.entries[name]
	return e.Value, e.Revision, ok
}

// All returns every record, sorted by name.
func (t *Table[T]) All() []Entry[T] {
	t.mu.RLock()
	all := make([]Entry[T], 0, len(t.entries))
	for _, e := range t.entries {
		all = append(all, e)
	}
	t.mu.RUnlock()
	slices.SortFunc(all, func(a, b Entry[T]) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Group returns the records of one group: the snapshots of a placement, sorted by index; in families
// without groups the record called group.
func (t *Table[T]) Group(group string) []Entry[T] {
	t.mu.RLock()
	names := t.groups[group]
	all := make([]Entry[T], 0, len(names))
	for name := range names {
		all = append(all, t.entries[name])
	}
	t.mu.RUnlock()
	slices.SortFunc(all, func(a, b Entry[T]) int {
		if d := len(a.Name) - len(b.Name); d != 0 { // indices have no leading zeros
			return d
		}
		return strings.Compare(a.Name, b.Name)
	})
	return all
}

// Len is the number of records.
func (t *Table[T]) Len() int {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return len(t.entries)
}

// Broken lists the records that cannot be decoded, by name.
func (t *Table[T]) Broken() map[string]error {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return maps.Clone(t.broken)
}

// Key is the key of the record called name.
func (t *Table[T]) Key(name string) string { return t.family.Key(name) }

// OnChange registers f, called with the name of each record that came, changed or went, after the
// table holds the change; it is called at once with every name there is. It must not block, and may
// be called for nothing.
func (t *Table[T]) OnChange(f func(name string)) {
	t.mu.Lock()
	t.listeners = append(slices.Clip(t.listeners), f)
	t.mu.Unlock()
	for _, e := range t.All() {
		f(e.Name)
	}
}

func (t *Table[T]) prefix() string { return t.family.Prefix() }

func (t *Table[T]) observe(key string, c cell) {
	name, ok := t.family.Name(key)
	if !ok {
		t.log.Error().Str("key", key).Msg("key is not one of ours")
		return
	}
	entry := Entry[T]{Name: name, Revision: c.sequence}
	var err error
	if !c.deleted {
		err = decode(c.value, &entry.Value)
	}
	group := t.family.Group(name)
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.broken, name)
	if c.deleted || err != nil {
		delete(t.entries, name)
		if delete(t.groups[group], name); len(t.groups[group]) == 0 {
			delete(t.groups, group)
		}
		if err != nil {
			t.broken[name] = err
			t.log.Error().Err(err).Str("key", key).Uint64("revision", c.sequence).Msg("record cannot be decoded")
		}
		return
	}
	t.entries[name] = entry
	if t.groups[group] == nil {
		t.groups[group] = map[string]struct{}{}
	}
	t.groups[group][name] = struct{}{}
}

func (t *Table[T]) notify(key string) {
	name, ok := t.family.Name(key)
	if !ok {
		return
	}
	t.mu.RLock()
	listeners := t.listeners
	t.mu.RUnlock()
	for _, f := range listeners {
		f(name)
	}
}
