package memory

import (
	"fmt"
	"maps"
	"slices"
)

// LaunchFault says which launches of nodes a fault is for.
type LaunchFault struct {
	// What is any, a NodePool or an instance type.
	What string
	// Nth is the only launch of What that the fault is for, from 1; 0 means all.
	Nth int
}

// String writes the fault as ParseFaults reads it, "general@2".
func (f LaunchFault) String() string {
	if f.Nth == 0 {
		return f.What
	}
	return fmt.Sprintf("%s@%d", f.What, f.Nth)
}

func readLaunch(into *[]LaunchFault, word, value string) error {
	what, n, err := parseNumbered(word, value, "a launch")
	if err == nil {
		*into = append(*into, LaunchFault{What: what, Nth: n})
	}
	return err
}

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

// hit returns the fault of a list that is for this machine, nil when none is.
func (mach *machine) hit(list []LaunchFault) *LaunchFault {
	for i := range list {
		f := &list[i]
		for what, n := range map[string]int{"any": mach.number.all, mach.NodePool: mach.number.pool, mach.InstanceType: mach.number.instanceType} {
			if f.What == what && (f.Nth == 0 || f.Nth == n) {
				return f
			}
		}
	}
	return nil
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
