package disruption

import (
	"maps"
	"slices"
	"time"

	"flotilla/core/api"
)

// State is everything a decision depends on.
type State struct {
	Cluster *Cluster
	Pools   []*Pool
	Now     time.Time
	Rules   Rules
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
}

// nominated is until when a pod is expected on a node.
func (s *State) nominated(n *api.NodeState) time.Time {
	if own := n.NominatedUntil.Time; own.After(s.Nominated[n.Name]) {
		return own
	}
	return s.Nominated[n.Name]
}

// ahead is a state of its own in which commands can be taken; s stays as it is.
func (s *State) ahead() *State {
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

// take counts a command as begun: its nodes go, and its pods are expected on the nodes that they go to.
func (s *State) take(c *Command) {
	var fresh []string
	for _, n := range c.Nodes {
		if _, found := s.Cluster.Node(n); found && !s.Busy[n] {
			s.Busy[n] = true
			fresh = append(fresh, n)
		}
	}
	s.spendFleet(fresh)
	if foreseen(c.Method, c.Forceful) {
		return
	}
	for _, m := range c.Moves {
		if _, found := s.Cluster.Node(m.To); !found || !slices.Contains(c.Nodes, m.From) {
			continue
		}
		s.Promised[m.Pod], s.Unsettled = m.To, true
		if until := s.Now.Add(NominationHold); until.After(s.Nominated[m.To]) {
			s.Nominated[m.To] = until
		}
	}
}
