package simulate

import (
	"maps"
	"slices"
	"time"

	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/core/cluster"
)

// NominationHold is for how long after a disruption ended the nodes that its pods went to are left
// alone.
const NominationHold = 20 * time.Second

// State is everything a decision depends on.
type State struct {
	Cluster *cluster.Cluster
	Pools   []*capacity.Pool
	Now     time.Time
	Rules   capacity.Rules
	// Busy are nodes that a running disruption removes.
	Busy map[string]bool
	// Undoing are those of Busy that stay: their disruption, by its id, was given up, and the agent has not
	// taken off yet what it put on them.
	Undoing map[string]string
	// Backoffs are nodes whose last disruption failed, and until when they are left alone (N8).
	Backoffs map[string]time.Time
	// Nominated are nodes on which a disruption expects pods, and until when, beside what their own
	// state says.
	Nominated map[string]time.Time
	// Promised are the nodes that pods of running disruptions were expected on when those began, by
	// namespace/name: each is placed there before all others, if it still fits.
	Promised map[string]string
	// Unsettled says that pods are on their way: those without a node that find room now must find it
	// beside whatever is decided too.
	Unsettled bool
	// DriftedSince is when each drifted node was first seen to be; a node that is not listed
	// drifted now.
	DriftedSince map[string]time.Time
	// FleetAllowed is what is left of each fleet-wide budget, by its name; a budget that is not
	// listed does not bind (N11).
	FleetAllowed map[string]int
	// Stale says why the state is too old to act on; nothing is decided then.
	Stale string
	// Ended says that nobody waits for what is decided any more, and stays so: it is given up then. Nil is never.
	Ended func() bool
}

// NominatedUntil is until when a pod is expected on a node.
func (s *State) NominatedUntil(n *api.NodeState) time.Time {
	if own := n.NominatedUntil.Time; own.After(s.Nominated[n.Name]) {
		return own
	}
	return s.Nominated[n.Name]
}

// Ahead is a state of its own in which commands can be taken; s stays as it is.
func (s *State) Ahead() *State {
	c := *s
	c.Busy, c.FleetAllowed = owned(s.Busy), owned(s.FleetAllowed)
	c.Promised, c.Nominated = owned(s.Promised), owned(s.Nominated)
	return &c
}

func owned[V any](m map[string]V) map[string]V {
	if m == nil {
		return map[string]V{}
	}
	return maps.Clone(m)
}

// Begin counts nodes as being disrupted: they go, and their pods are expected on the nodes that they move to, unless
// where they go is only foreseen.
func (s *State) Begin(nodes []string, moves []api.PodMove, foreseen bool) {
	var fresh []string
	for _, n := range nodes {
		if _, found := s.Cluster.Node(n); found && !s.Busy[n] {
			s.Busy[n] = true
			fresh = append(fresh, n)
		}
	}
	s.spendFleet(fresh)
	if foreseen {
		return
	}
	for _, m := range moves {
		if _, found := s.Cluster.Node(m.To); !found || !slices.Contains(nodes, m.From) {
			continue
		}
		s.Promised[m.Pod], s.Unsettled = m.To, true
		if until := s.Now.Add(NominationHold); until.After(s.Nominated[m.To]) {
			s.Nominated[m.To] = until
		}
	}
}

// spendFleet takes nodes off what is left of the fleet-wide budgets of their pools.
func (s *State) spendFleet(nodes []string) {
	for _, name := range nodes {
		i := slices.IndexFunc(s.Pools, func(p *capacity.Pool) bool { return p.Name == s.Cluster.Nodes[name].Pool })
		if i < 0 {
			continue
		}
		if fleet := s.Pools[i].FleetBudget; s.FleetAllowed[fleet] > 0 {
			s.FleetAllowed[fleet]--
		}
	}
}

// Pool is the pool of a name, nil for none.
func (s *State) Pool(name string) *capacity.Pool {
	i := slices.IndexFunc(s.Pools, func(p *capacity.Pool) bool { return p.Name == name })
	if i < 0 {
		return nil
	}
	return s.Pools[i]
}

// EditNode changes a copy of a node.
func (s *State) EditNode(name string, edit func(*api.NodeState)) {
	copied := *s.Cluster.Nodes[name].State
	copied.Annotations, copied.Pods = maps.Clone(copied.Annotations), slices.Clone(copied.Pods)
	edit(&copied)
	s.Cluster.Nodes[name] = s.Cluster.NewNode(&copied)
}

// EditPool changes a copy of a pool.
func (s *State) EditPool(name string, edit func(*capacity.Pool)) {
	i := slices.IndexFunc(s.Pools, func(p *capacity.Pool) bool { return p.Name == name })
	copied := *s.Pools[i]
	edit(&copied)
	s.Pools[i] = &copied
}

// EditBudget changes a PodDisruptionBudget, by namespace/name.
func (s *State) EditBudget(name string, edit func(*cluster.PodBudget)) {
	for i := range s.Cluster.Budgets {
		if s.Cluster.Budgets[i].Name == name {
			edit(&s.Cluster.Budgets[i])
		}
	}
}
