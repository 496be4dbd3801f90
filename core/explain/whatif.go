package explain

import (
	"maps"
	"slices"

	"flotilla/core/simulate"
)

// change is one thing that may become another, in words and applied to a state.
type change struct {
	text  string
	apply func(*simulate.State)
	// waits says that it is to let time pass.
	waits bool
}

// changed is a state of its own with changes applied; s stays as it is.
func changed(s *simulate.State, changes []change) *simulate.State {
	c, cluster := s.Ahead(), *s.Cluster
	cluster.Nodes, cluster.Budgets = maps.Clone(s.Cluster.Nodes), slices.Clone(s.Cluster.Budgets)
	c.Cluster, c.Pools = &cluster, slices.Clone(s.Pools)
	for i := range changes {
		changes[i].apply(c)
	}
	return c
}
