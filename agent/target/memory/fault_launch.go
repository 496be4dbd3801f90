package memory

import (
	"maps"
	"slices"
)

// launches counts the nodes that the member was asked to launch: all, by pool and by instance type.
type launches struct {
	All   int            `json:"all"`
	Pools map[string]int `json:"pools,omitempty"`
	Types map[string]int `json:"types,omitempty"`
}

// launchNumber is the place of one launch in each of these counts.
type launchNumber struct {
	All    int `json:"all,omitempty"`
	OfPool int `json:"ofPool,omitempty"`
	OfType int `json:"ofType,omitempty"`
}

func (c *launches) next(l *Launch) launchNumber {
	if c.Pools == nil {
		c.Pools, c.Types = map[string]int{}, map[string]int{}
	}
	c.All++
	c.Pools[l.NodePool]++
	c.Types[l.InstanceType]++
	return launchNumber{c.All, c.Pools[l.NodePool], c.Types[l.InstanceType]}
}

// places are the how manieth launch a machine is of any, of its NodePool and of its instance type.
func (mach *machine) places() map[string]int {
	return map[string]int{"any": mach.All, mach.NodePool: mach.OfPool, mach.InstanceType: mach.OfType}
}

// resume lets launches that stood still go on, and machines that a fault takes vanish.
func (m *Member) resume() {
	for _, name := range slices.Sorted(maps.Keys(m.machines)) {
		mach := m.machines[name]
		if slices.Contains(m.faults.Lost, name) {
			m.vanish(mach)
		} else if mach.held != nil {
			mach.held()
		}
	}
}
