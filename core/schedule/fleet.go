package schedule

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"flotilla/core/api"
)

// Fleet holds members in columns; rows are in name order.
type Fleet struct {
	names      []string
	members    []*api.Member
	ties       []bond  // what stands against eligibility
	beats      []int64 // unix nanoseconds of the last heartbeat
	turned     []int64 // unix nanoseconds of the last transition of Healthy
	taints     []uint32
	taintSets  dictionary
	taintLists [][]api.Taint // by number in taintSets
	labels     map[string]*labelColumn
	properties map[string]*propertyColumn
}

// NewFleet returns a fleet of these members. Giving all at once is quicker than one by one.
func NewFleet(members ...api.Member) *Fleet {
	f := &Fleet{
		taintSets:  newDictionary(),
		taintLists: [][]api.Taint{nil},
		labels:     map[string]*labelColumn{},
		properties: map[string]*propertyColumn{},
	}
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

// Member returns the member as it was last set, with its latest heartbeat. Its maps and slices are
// the fleet's own and not to be changed.
func (f *Fleet) Member(name string) (api.Member, bool) {
	row, known := f.row(name)
	if !known {
		return api.Member{}, false
	}
	return *f.members[row], true
}

func (f *Fleet) row(name string) (int, bool) { return slices.BinarySearch(f.names, name) }

// Set adds the member, or replaces what the fleet knew of it, parsing its values once. The fleet
// keeps m's maps and slices; they are not to be changed afterwards.
func (f *Fleet) Set(m api.Member) {
	row, known := f.row(m.Name)
	if !known {
		f.insert(row, m.Name)
	}
	old := f.members[row]
	f.members[row] = &m
	f.ties[row] = bondOf(&m)
	f.beats[row] = nanos(m.LastHeartbeat)
	f.turned[row] = nanos(m.HealthChanged)
	f.setTaints(row, m.Taints)
	f.setLabels(row, old.Labels, m.Labels)
	f.setProperties(row, old.Properties, m.Properties)
}

// Heartbeat records, in place, that the member was heard of at this time with these properties. It
// keeps the map. It reports false for a name that is no member.
func (f *Fleet) Heartbeat(name string, at time.Time, properties map[string]string) bool {
	row, known := f.row(name)
	if !known {
		return false
	}
	m := f.members[row]
	f.setProperties(row, m.Properties, properties)
	m.LastHeartbeat, m.Properties = at, properties
	f.beats[row] = nanos(at)
	return true
}

// Remove takes the member out of the fleet. It reports false for a name that is no member.
func (f *Fleet) Remove(name string) bool {
	row, known := f.row(name)
	if !known {
		return false
	}
	m := f.members[row]
	f.setTaints(row, nil)
	f.setLabels(row, m.Labels, nil)
	f.setProperties(row, m.Properties, nil)
	f.resize(row, func(c *labelColumn) { c.ids = slices.Delete(c.ids, row, row+1) },
		func(c *propertyColumn) {
			c.text = slices.Delete(c.text, row, row+1)
			c.state = slices.Delete(c.state, row, row+1)
			c.floats = slices.Delete(c.floats, row, row+1)
		})
	f.names = slices.Delete(f.names, row, row+1)
	f.members = slices.Delete(f.members, row, row+1)
	f.ties = slices.Delete(f.ties, row, row+1)
	f.beats = slices.Delete(f.beats, row, row+1)
	f.turned = slices.Delete(f.turned, row, row+1)
	f.taints = slices.Delete(f.taints, row, row+1)
	return true
}

// Clone returns a fleet that shares no column with f.
func (f *Fleet) Clone() *Fleet {
	c := &Fleet{
		names: slices.Clone(f.names), members: make([]*api.Member, len(f.members)),
		ties: slices.Clone(f.ties), beats: slices.Clone(f.beats), turned: slices.Clone(f.turned),
		taints: slices.Clone(f.taints), taintSets: f.taintSets.clone(), taintLists: slices.Clone(f.taintLists),
		labels:     make(map[string]*labelColumn, len(f.labels)),
		properties: make(map[string]*propertyColumn, len(f.properties)),
	}
	members := make([]api.Member, len(f.members))
	for i, m := range f.members {
		members[i] = *m
		c.members[i] = &members[i]
	}
	for key, column := range f.labels {
		c.labels[key] = &labelColumn{column.clone(), slices.Clone(column.ids)}
	}
	for name, column := range f.properties {
		c.properties[name] = column.clone()
	}
	return c
}

func (f *Fleet) insert(row int, name string) {
	f.resize(row, func(c *labelColumn) { c.ids = slices.Insert(c.ids, row, 0) },
		func(c *propertyColumn) {
			c.text = slices.Insert(c.text, row, "")
			c.state = slices.Insert(c.state, row, propertyAbsent)
			c.floats = slices.Insert(c.floats, row, notANumber)
		})
	f.names = slices.Insert(f.names, row, strings.Clone(name))
	f.members = slices.Insert(f.members, row, &api.Member{})
	f.ties = slices.Insert(f.ties, row, bond(0))
	f.beats = slices.Insert(f.beats, row, 0)
	f.turned = slices.Insert(f.turned, row, 0)
	f.taints = slices.Insert(f.taints, row, 0)
}

func (f *Fleet) resize(row int, label func(*labelColumn), property func(*propertyColumn)) {
	for _, column := range f.labels {
		label(column)
	}
	for _, column := range f.properties {
		property(column)
	}
}
