package disruptor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/core/disruption"
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
func (d *Disruptor) Nodes(ctx context.Context) map[string][]*api.NodeState {
	if !d.pooled() {
		d.countUnwanted(ctx)
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

// counted are the shares of a budget, that of one member in another form than it was counted last.
func (f *fleet) counted(b *capacity.SharedBudget, member string, own map[string]disruption.PoolShare) []disruption.FleetCount {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []disruption.FleetCount
	add := func(pools map[string]disruption.PoolShare) {
		for _, p := range b.Pools {
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
func (f *fleet) left(budgets []capacity.SharedBudget, member string, own map[string]disruption.PoolShare) (map[string]int, string, error) {
	if len(budgets) == 0 {
		return nil, "", nil
	}
	out := map[string]int{}
	var line strings.Builder
	for i := range budgets {
		b := &budgets[i]
		_, n, err := disruption.SharedAllowed(b, f.counted(b, member, own))
		if err != nil {
			return nil, "", err
		}
		out[b.Name] = n
		fmt.Fprintf(&line, "%s=%d ", b.Name, n)
	}
	return out, line.String(), nil
}
