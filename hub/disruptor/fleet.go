package disruptor

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"flotilla/core/api"
	"flotilla/core/disruption"
	"flotilla/core/validate"
)

// fleet counts the nodes of all members by pool, so that budgets over members and the records of pools
// need not look at views.
type fleet struct {
	mu     sync.Mutex
	counts map[string]census
	gates  map[string]*sync.Mutex
}

// census is one member's nodes.
type census struct {
	pools map[string]disruption.PoolShare
	// nodes are those of pools; they and the list do not change.
	nodes []*api.NodeState
	// unknown says why they cannot be counted now.
	unknown string
}

func newFleet() *fleet { return &fleet{counts: map[string]census{}, gates: map[string]*sync.Mutex{}} }

// set replaces the count of a member and returns the pools that are concerned.
func (f *fleet) set(member string, c census) (changed []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	old := f.counts[member]
	for pool, share := range c.pools {
		if old.pools[pool] != share || old.unknown != c.unknown {
			changed = append(changed, pool)
		}
	}
	for pool := range old.pools {
		if _, still := c.pools[pool]; !still {
			changed = append(changed, pool)
		}
	}
	f.counts[member] = c
	return changed
}

func (f *fleet) forget(member string) (changed []string) {
	changed = f.set(member, census{})
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.counts, member)
	return changed
}

// of returns the count of a member; false when nothing was heard of its nodes.
func (f *fleet) of(member string) (census, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c, ok := f.counts[member]
	return c, ok
}

// Nodes are those of all members that belong to pools, as their agents told them last, by member. Where
// there are no NodePools they are counted first, which takes a few seconds at most.
func (d *Disruptor) Nodes() map[string][]*api.NodeState {
	if !d.pooled() {
		d.countUnwanted()
	}
	d.fleet.mu.Lock()
	defer d.fleet.mu.Unlock()
	out := make(map[string][]*api.NodeState, len(d.fleet.counts))
	for name, c := range d.fleet.counts {
		if len(c.nodes) > 0 {
			out[name] = c.nodes
		}
	}
	return out
}

// hold keeps others from spending fleet-wide budgets, by name, until release is called.
func (f *fleet) hold(budgets []string) (release func()) {
	var held []*sync.Mutex
	for _, name := range budgets { // sorted, so that two that share several do not wait for each other
		f.mu.Lock()
		gate := f.gates[name]
		if gate == nil {
			gate = &sync.Mutex{}
			f.gates[name] = gate
		}
		f.mu.Unlock()
		gate.Lock()
		held = append(held, gate)
	}
	return func() {
		for _, gate := range slices.Backward(held) {
			gate.Unlock()
		}
	}
}

// sharedBudget is a budget over all members whose pools name it.
type sharedBudget struct {
	name string
	// amounts are those that its pools state; what allows least counts.
	amounts []string
	pools   []string
}

func (b *sharedBudget) covers(pools []string) bool {
	return slices.ContainsFunc(b.pools, func(p string) bool { return slices.Contains(pools, p) })
}

// allows is how many more nodes may go, by the amount that allows least.
func (b *sharedBudget) allows(counts []disruption.FleetCount) (by string, left int, err error) {
	for _, amount := range b.amounts {
		n, err := disruption.FleetAllowed(amount, counts)
		if err != nil {
			return "", 0, err
		}
		if by == "" || n < left {
			by, left = amount, n
		}
	}
	return by, left, nil
}

// sharedBudgets are the fleet-wide budgets that some pools name, sorted by name.
func sharedBudgets(pools []*api.NodePool) []sharedBudget {
	byName := map[string]*sharedBudget{}
	for _, p := range pools {
		name, amount, ok := validate.FleetBudget(p.Annotations[api.AnnotationFleetBudget])
		if !ok {
			continue
		}
		b := byName[name]
		if b == nil {
			b = &sharedBudget{name: name}
			byName[name] = b
		}
		b.pools = append(b.pools, p.Name)
		if !slices.Contains(b.amounts, amount) {
			b.amounts = append(b.amounts, amount)
		}
	}
	var out []sharedBudget
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		out = append(out, *byName[name])
	}
	return out
}

// sharedWith are the fleet-wide budgets that some of own name, over all pools.
func sharedWith(own, all []*api.NodePool) []sharedBudget {
	named := sharedBudgets(own)
	return slices.DeleteFunc(sharedBudgets(all), func(b sharedBudget) bool {
		return !slices.ContainsFunc(named, func(o sharedBudget) bool { return o.name == b.name })
	})
}

// counted are the shares of a budget, that of one member in another form than it was counted last.
func (f *fleet) counted(b *sharedBudget, member string, own map[string]disruption.PoolShare) []disruption.FleetCount {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []disruption.FleetCount
	add := func(pools map[string]disruption.PoolShare) {
		for _, p := range b.pools {
			out = append(out, pools[p].FleetCount)
		}
	}
	for name, c := range f.counts {
		if name != member {
			add(c.pools)
		}
	}
	add(own)
	return out
}

// left is what fleet-wide budgets leave, by name, with the nodes of one member counted as own says; all
// of them in one line for comparing.
func (f *fleet) left(budgets []sharedBudget, member string, own map[string]disruption.PoolShare) (map[string]int, string, error) {
	if len(budgets) == 0 {
		return nil, "", nil
	}
	out := map[string]int{}
	var line strings.Builder
	for i := range budgets {
		b := &budgets[i]
		_, n, err := b.allows(f.counted(b, member, own))
		if err != nil {
			return nil, "", err
		}
		out[b.name] = n
		fmt.Fprintf(&line, "%s=%d ", b.name, n)
	}
	return out, line.String(), nil
}
