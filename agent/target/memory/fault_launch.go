package memory

import (
	"maps"
	"slices"
)

// launches counts the nodes that the member was asked to launch: all, by pool and by instance type.
type launches struct {
	all          int
	pools, types map[string]int
}

// launchNumber is the place of one launch in each of these counts.
type launchNumber struct{ all, pool, instanceType int }

func (c *launches) next(l *Launch) launchNumber {
	if c.pools == nil {
		c.pools, c.types = map[string]int{}, map[string]int{}
	}
	c.all++
	c.pools[l.NodePool]++
	c.types[l.InstanceType]++
	return launchNumber{c.all, c.pools[l.NodePool], c.types[l.InstanceType]}
}

// places are the how manieth launch a machine is of any, of its NodePool and of its instance type.
func (mach *machine) places() map[string]int {
	return map[string]int{"any": mach.number.all, mach.NodePool: mach.number.pool, mach.InstanceType: mach.number.instanceType}
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
