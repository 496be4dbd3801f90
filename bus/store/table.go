package store

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"flotilla/bus"
	"flotilla/bus/watch"
	"flotilla/subjects"

	"github.com/rs/zerolog"
)

// Table is the typed view of one family of records. T is decoded once per update, and not at all where this process
// wrote it as a value (Records.Share); values are shared between all readers and must not be changed. A record that cannot be decoded is logged and listed by
// Broken. Who decides reads with Find, FindGroup and FindAll, to which such a record is an error: what
// cannot be read is not gone. Who only shows reads with Get, Group and All, which leave it out.
type Table[T any] struct {
	family subjects.Family
	log    zerolog.Logger

	mu        sync.RWMutex
	entries   map[string]Entry[T]            // by name
	groups    map[string]map[string]struct{} // names by group
	broken    map[string]broken
	listeners []func(name string)
}

// Entry is one record of a table.
type Entry[T any] struct {
	Name     string
	Value    T
	Revision uint64
}

// broken is a record that cannot be decoded.
type broken struct {
	revision uint64
	err      error
}

// TableOf returns the table of a family; every call for the same family and T returns the same one.
func TableOf[T any](s *State, family subjects.Family) (t *Table[T]) {
	s.mirror.Hold(func(cells map[string]watch.Cell) {
		for _, v := range s.views() {
			if known, ok := v.(*Table[T]); ok && known.family == family {
				t = known
				return
			}
		}
		t = &Table[T]{
			family: family, log: s.conn.Log,
			entries: map[string]Entry[T]{}, groups: map[string]map[string]struct{}{}, broken: map[string]broken{},
		}
		for key, c := range cells {
			if !c.Deleted && strings.HasPrefix(key, family.Prefix()) {
				t.observe(key, c, nil)
			}
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.tables = append(slices.Clip(s.tables), t)
	})
	return t
}

// Find returns the record called name; its revision is 0 and found false when there is none. One that
// cannot be decoded is ErrBroken, with its revision.
func (t *Table[T]) Find(name string) (value T, revision uint64, found bool, err error) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if b, isBroken := t.broken[name]; isBroken {
		return value, b.revision, false, t.complain(name, b)
	}
	e, found := t.entries[name]
	return e.Value, e.Revision, found, nil
}

// FindGroup is Group, and ErrBroken when a record of the group cannot be decoded.
func (t *Table[T]) FindGroup(group string) ([]Entry[T], error) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if err := t.wrong(func(name string) bool { return t.family.Group(name) == group }); err != nil {
		return nil, err
	}
	return t.group(group), nil
}

// FindAll is All, and ErrBroken when any record cannot be decoded.
func (t *Table[T]) FindAll() ([]Entry[T], error) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if err := t.wrong(func(string) bool { return true }); err != nil {
		return nil, err
	}
	return t.all(), nil
}

// wrong is about the first broken record that counts; the lock is held.
func (t *Table[T]) wrong(counts func(name string) bool) error {
	for _, name := range slices.Sorted(maps.Keys(t.broken)) {
		if counts(name) {
			return t.complain(name, t.broken[name])
		}
	}
	return nil
}

func (t *Table[T]) complain(name string, b broken) error {
	return fmt.Errorf("record %s, revision %d: %w: %w", t.family.Key(name), b.revision, bus.ErrBroken, b.err)
}

// Get returns the record called name; its revision is 0 and ok false when there is none, or none that
// can be decoded.
func (t *Table[T]) Get(name string) (value T, revision uint64, ok bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	e, ok := t.entries[name]
	return e.Value, e.Revision, ok
}

// All returns every record, sorted by name.
func (t *Table[T]) All() []Entry[T] {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.all()
}

func (t *Table[T]) all() []Entry[T] {
	all := make([]Entry[T], 0, len(t.entries))
	for _, e := range t.entries {
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b Entry[T]) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// NamesWhere are the names of the records that are wanted, sorted: the others are neither copied nor sorted. Wanted must not use the table.
func (t *Table[T]) NamesWhere(wanted func(value *T) bool) []string {
	names := t.wanted(wanted)
	slices.Sort(names)
	return names
}

func (t *Table[T]) wanted(wanted func(value *T) bool) (names []string) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for name, e := range t.entries {
		if wanted(&e.Value) {
			names = append(names, name)
		}
	}
	return names
}

// Group returns the records of one group: the snapshots of a placement, sorted by index; in families
// without groups the record called group.
func (t *Table[T]) Group(group string) []Entry[T] {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.group(group)
}

func (t *Table[T]) group(group string) []Entry[T] {
	names := t.groups[group]
	all := make([]Entry[T], 0, len(names))
	for name := range names {
		all = append(all, t.entries[name])
	}
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

// Any says that there is a record, be it one that cannot be decoded.
func (t *Table[T]) Any() bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return len(t.entries)+len(t.broken) > 0
}

// Broken lists the records that cannot be decoded, by name.
func (t *Table[T]) Broken() map[string]error {
	t.mu.RLock()
	defer t.mu.RUnlock()
	all := make(map[string]error, len(t.broken))
	for name, b := range t.broken {
		all[name] = b.err
	}
	return all
}

// Revision is that of the record of a name, whether it can be decoded or not; 0 when there is none.
func (t *Table[T]) Revision(name string) uint64 {
	_, revision, _, _ := t.Find(name)
	return revision
}

// Key is the key of the record called name.
func (t *Table[T]) Key(name string) string { return t.family.Key(name) }

// Holds is Holds for the record called name.
func (t *Table[T]) Holds(name string, revision uint64) Op { return Holds(t.Key(name), revision) }

// OnChange registers f, called with the name of each record that came, changed or went, after the
// table holds the change; it is called at once with every name there is, broken ones included. It must
// not block, and may be called for nothing.
func (t *Table[T]) OnChange(f func(name string)) {
	t.mu.Lock()
	t.listeners = append(slices.Clip(t.listeners), f)
	t.mu.Unlock()
	for _, name := range t.Names() {
		f(name)
	}
}

// Names of all records, those included that cannot be decoded, sorted.
func (t *Table[T]) Names() []string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	names := slices.AppendSeq(slices.Collect(maps.Keys(t.entries)), maps.Keys(t.broken))
	slices.Sort(names)
	return names
}

func (t *Table[T]) prefix() string { return t.family.Prefix() }

func (t *Table[T]) observe(key string, c watch.Cell, own any) {
	name, ok := t.family.Name(key)
	if !ok {
		t.log.Error().Str("key", key).Msg("key is not one of ours")
		return
	}
	entry := Entry[T]{Name: name, Revision: c.Sequence}
	var err error
	if made, is := own.(*T); is {
		entry.Value = *made
	} else if !c.Deleted {
		err = bus.Decode(c.Value, bus.RecordBounds, &entry.Value)
	}
	group := t.family.Group(name)
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.broken, name)
	if c.Deleted || err != nil {
		delete(t.entries, name)
		if delete(t.groups[group], name); len(t.groups[group]) == 0 {
			delete(t.groups, group)
		}
		if err != nil {
			t.broken[name] = broken{c.Sequence, err}
			t.log.Error().Err(err).Str("key", key).Uint64("revision", c.Sequence).Msg("record cannot be decoded")
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
