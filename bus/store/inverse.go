package store

import (
	"maps"
	"slices"
	"sync"

	"flotilla/subjects"
)

// Inverse answers which records name a member, without reading them all. Its owner calls Set from the
// OnChange of the table; the zero value is empty.
type Inverse struct {
	mu      sync.Mutex
	records map[string]map[string]struct{} // by member
	members map[string][]string            // by record
}

// Set replaces the members that a record names; none when it is gone.
func (x *Inverse) Set(record string, members []string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if slices.Equal(x.members[record], members) {
		return
	}
	if x.records == nil {
		x.records, x.members = map[string]map[string]struct{}{}, map[string][]string{}
	}
	for _, member := range x.members[record] {
		if delete(x.records[member], record); len(x.records[member]) == 0 {
			delete(x.records, member)
		}
	}
	delete(x.members, record)
	for _, member := range members {
		if x.records[member] == nil {
			x.records[member] = map[string]struct{}{}
		}
		x.records[member][record] = struct{}{}
	}
	if len(members) > 0 {
		x.members[record] = slices.Clone(members)
	}
}

// Of lists the records that name a member, sorted.
func (x *Inverse) Of(member string) []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Sorted(maps.Keys(x.records[member]))
}

// InverseOf follows a table: names are the members that one of its records names. A record that cannot be
// read names those that it named before.
func InverseOf[T any](t *Table[T], names func(*T) []string) *Inverse {
	x := &Inverse{}
	t.OnChange(func(record string) {
		value, _, found, err := t.Find(record)
		switch {
		case err != nil:
		case found:
			x.Set(record, names(&value))
		default:
			x.Set(record, nil)
		}
	})
	return x
}

// SharedInverse is InverseOf of a table, made once for all rooms that read it, which have the same names for its records.
func SharedInverse[T any](a *Access, t *Table[T], names func(*T) []string) *Inverse {
	a.state.making.Lock()
	defer a.state.making.Unlock()
	if a.state.inverses == nil {
		a.state.inverses = map[subjects.Family]*Inverse{}
	}
	if a.state.inverses[t.family] == nil {
		a.state.inverses[t.family] = InverseOf(t, names)
	}
	return a.state.inverses[t.family]
}
