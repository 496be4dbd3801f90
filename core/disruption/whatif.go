package disruption

import (
	"maps"
	"slices"

	"flotilla/core/api"
)

// change is one thing that may become another, in words and applied to a state.
type change struct {
	text  string
	apply func(*State)
	// waits says that it is to let time pass.
	waits bool
}

// changed is a state of its own with changes applied; s stays as it is.
func (s *State) changed(changes []change) *State {
	c, cluster := s.ahead(), *s.Cluster
	cluster.nodes, cluster.budgets = maps.Clone(s.Cluster.nodes), slices.Clone(s.Cluster.budgets)
	c.Cluster, c.Pools = &cluster, slices.Clone(s.Pools)
	for i := range changes {
		changes[i].apply(c)
	}
	return c
}

// editNode changes a copy of a node.
func (s *State) editNode(name string, edit func(*api.NodeState)) {
	copied := *s.Cluster.nodes[name].state
	copied.Annotations, copied.Pods = maps.Clone(copied.Annotations), slices.Clone(copied.Pods)
	edit(&copied)
	s.Cluster.nodes[name] = s.Cluster.newNode(&copied)
}

// editPool changes a copy of a pool.
func (s *State) editPool(name string, edit func(*Pool)) {
	i := slices.IndexFunc(s.Pools, func(p *Pool) bool { return p.name == name })
	copied := *s.Pools[i]
	edit(&copied)
	s.Pools[i] = &copied
}

// editBudget changes a PodDisruptionBudget, by namespace/name.
func (s *State) editBudget(name string, edit func(*podBudget)) {
	for i := range s.Cluster.budgets {
		if s.Cluster.budgets[i].name == name {
			edit(&s.Cluster.budgets[i])
		}
	}
}
