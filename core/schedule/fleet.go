package schedule

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"flotilla/core/api"
)

// Fleet holds members in columns; rows are in name order. While nobody changes it, any number may decide on it at once.
type Fleet struct {
	names      []string               // replaced, never changed, where a verdict may share it
	members    []*api.Member          // as they were set; their maps and slices are never changed
	ties       []bond                 // what stands against eligibility
	beats      []int64                // unix nanoseconds of the last heartbeat
	turned     []int64                // unix nanoseconds of the last transition of Healthy
	taints     column                 // distinct taint lists, as text
	taintLists map[string][]api.Taint // by that text
	asked      asked
}

// NewFleet returns a fleet of these members. Giving all at once is quicker than one by one.
func NewFleet(members ...api.Member) *Fleet {
	f := &Fleet{taints: newColumn(0), taintLists: map[string][]api.Taint{}}
	sorted := slices.Clone(members)
	slices.SortStableFunc(sorted, func(a, b api.Member) int { return cmp.Compare(a.Name, b.Name) })
	for i := range sorted {
		f.Set(sorted[i])
	}
	return f
}

// Len returns the number of members.
func (f *Fleet) Len() int { return len(f.names) }

// Names returns the names of all members, sorted.
func (f *Fleet) Names() []string { return slices.Clone(f.names) }

// Member returns the member as it was last set, with its latest heartbeat. Its slices are the
// fleet's own and not to be changed; its maps are the caller's.
func (f *Fleet) Member(name string) (api.Member, bool) {
	row, known := f.row(name)
	if !known {
		return api.Member{}, false
	}
	m := *f.members[row]
	labels := make(map[string]string, len(m.Labels))
	maps.Copy(labels, m.Labels)
	m.Labels, m.Properties = labels, canonicalOf(m.Properties)
	return m, true
}

func (f *Fleet) row(name string) (int, bool) { return slices.BinarySearch(f.names, name) }

// Has reports whether there is a member of this name.
func (f *Fleet) Has(name string) bool {
	_, known := f.row(name)
	return known
}

// Set adds the member, or replaces what the fleet knew of it, parsing those of its values that are asked for
// once. The fleet keeps m's slices and maps; they are not to be changed afterwards.
func (f *Fleet) Set(m api.Member) {
	row, known := f.row(m.Name)
	if !known {
		f.insert(row, m.Name)
	}
	f.ties[row] = bondOf(&m)
	f.beats[row] = nanos(m.LastHeartbeat)
	f.turned[row] = nanos(m.HealthChanged)
	f.setTaints(row, m.Taints)
	f.asked.setLabels(row, m.Labels)
	f.asked.setProperties(row, m.Properties)
	f.members[row] = &m
}

// Heartbeat records, in place, that the member was heard of at this time with these properties, which the fleet
// keeps. It reports false for a name that is no member.
func (f *Fleet) Heartbeat(name string, at time.Time, properties map[string]string) bool {
	row, known := f.row(name)
	if !known {
		return false
	}
	f.asked.setProperties(row, properties)
	f.members[row].Properties, f.members[row].LastHeartbeat = properties, at
	f.beats[row] = nanos(at)
	return true
}

// Remove takes the member out of the fleet. It reports false for a name that is no member.
func (f *Fleet) Remove(name string) bool {
	row, known := f.row(name)
	if !known {
		return false
	}
	f.setTaints(row, nil)
	f.asked.removeRow(row)
	f.taints.removeRow(row)
	f.names = slices.Concat(f.names[:row], f.names[row+1:])
	f.members = slices.Delete(f.members, row, row+1)
	f.ties = slices.Delete(f.ties, row, row+1)
	f.beats = slices.Delete(f.beats, row, row+1)
	f.turned = slices.Delete(f.turned, row, row+1)
	return true
}

func (f *Fleet) insert(row int, name string) {
	f.asked.insertRow(row)
	f.taints.insertRow(row)
	if row == len(f.names) {
		f.names = append(f.names, name)
	} else {
		f.names = slices.Concat(f.names[:row], []string{name}, f.names[row:])
	}
	f.members = slices.Insert(f.members, row, nil)
	f.ties = slices.Insert(f.ties, row, bond(0))
	f.beats = slices.Insert(f.beats, row, 0)
	f.turned = slices.Insert(f.turned, row, 0)
}

// Clone returns a fleet that can be changed apart from f.
func (f *Fleet) Clone() *Fleet {
	c := &Fleet{
		names: slices.Clone(f.names), members: make([]*api.Member, len(f.members)),
		ties: slices.Clone(f.ties), beats: slices.Clone(f.beats), turned: slices.Clone(f.turned),
		taints: f.taints.clone(), taintLists: maps.Clone(f.taintLists),
	}
	members := make([]api.Member, len(f.members))
	for i, m := range f.members {
		members[i] = *m
		c.members[i] = &members[i]
	}
	f.asked.cloneTo(&c.asked)
	return c
}
