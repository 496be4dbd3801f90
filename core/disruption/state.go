package disruption

import (
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
	// Backoffs are nodes whose last disruption failed, and until when they are left alone (N8).
	Backoffs map[string]time.Time
	// Nominated are nodes on which a disruption expects pods, and until when, beside what their own
	// state says.
	Nominated map[string]time.Time
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
