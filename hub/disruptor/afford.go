package disruptor

import (
	"slices"

	"flotilla/core/capacity"
	"flotilla/core/orchestration"
)

// affords says whether what a step takes of fleet-wide budgets still fits what they leave now, and whether they have come
// to leave something else since it was decided; the gates of the budgets are held. A step that was decided on what they
// leave now fits in any case: Step keeps to it.
func (d *Disruptor) affords(m *memberState, s *situation, out *orchestration.StepResult) (fits, moved bool) {
	left, line, err := d.fleet.left(s.pools.shared, m.name, s.own)
	if err != nil {
		return true, false // as it was before, so that nothing began
	}
	for i := range s.pools.shared {
		b := &s.pools.shared[i]
		if left[b.Name] < s.in.State.FleetAllowed[b.Name] && s.takes(out, b) > left[b.Name] {
			return false, true
		}
	}
	return true, line != s.grounds.shared
}

// takes is how many nodes under a budget a step takes, and those that wait; what is forceful goes past budgets.
func (s *situation) takes(out *orchestration.StepResult, b *capacity.SharedBudget) int {
	under := func(nodes []string) (n int) {
		for _, name := range nodes {
			if node := s.in.State.Cluster.Nodes[name]; node != nil && slices.Contains(b.Pools, node.Pool) {
				n++
			}
		}
		return n
	}
	taken := 0
	for i := range out.Record.Disruptions {
		if one := &out.Record.Disruptions[i]; !one.Forceful && slices.Contains(out.Began, one.ID) {
			taken += under(one.Nodes)
		}
	}
	for i := range out.Waiting {
		if c := &out.Waiting[i].Command; !c.Forceful {
			taken += under(c.Nodes)
		}
	}
	return taken
}
