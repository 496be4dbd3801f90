package bus

import (
	"context"

	"flotilla/subjects"
)

// State is the bucket of records: one watcher over all of it, with a cache.
type State struct{}

// Run watches until ctx ends, over reconnects, server restarts and slow consumers; it relists after
// each of them and every hour, and wakes what differs.
func (s *State) Run(ctx context.Context) error { return errUnbuilt }

// Synced says that the cache holds everything since the last (re)connect. Gather must refuse while false.
func (s *State) Synced() bool { return false }

// WaitSynced returns when Synced, or with ctx's error.
func (s *State) WaitSynced(ctx context.Context) error { return errUnbuilt }

// Revision of a key, 0 when it does not exist.
func (s *State) Revision(key string) uint64 { return 0 }

// Raw is the stored JSON of a key, gunzipped.
func (s *State) Raw(key string) (value []byte, revision uint64, ok bool) { return nil, 0, false }

// Keys with that prefix, sorted.
func (s *State) Keys(prefix string) []string { return nil }

// Table is the typed view of one family of records. T is decoded once per update; values are shared
// between all readers and must not be changed.
type Table[T any] struct{}

// Entry is one record of a table.
type Entry[T any] struct {
	Name     string
	Value    T
	Revision uint64
}

// TableOf returns the table of a family; every call for the same family and T returns the same one.
func TableOf[T any](s *State, family subjects.Family) *Table[T] { return nil }

// Get returns the record called name; its revision is 0 and ok false when there is none.
func (t *Table[T]) Get(name string) (value T, revision uint64, ok bool) { return value, 0, false }

// All returns every record, sorted by name.
func (t *Table[T]) All() []Entry[T] { return nil }

// Group returns the records of one group (the snapshots of a placement), sorted by name; snapshots
// by index.
func (t *Table[T]) Group(group string) []Entry[T] { return nil }

// Len is the number of records.
func (t *Table[T]) Len() int { return 0 }

// Key is the key of the record called name.
func (t *Table[T]) Key(name string) string { return "" }

// OnChange registers f, called with the name of each record that came, changed or went, initial ones
// included, after the cache holds the change. It must not block; it may be called for nothing.
func (t *Table[T]) OnChange(f func(name string)) {}
