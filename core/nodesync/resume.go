package nodesync

import (
	"maps"
	"slices"
	"time"

	"flotilla/core/api"
)

// Fresh reports whether nothing was told since the agent was started.
func (s *Sync) Fresh() bool { return s.sequence == 0 }

// Forget has everything told again.
func (s *Sync) Forget() {
	for _, t := range s.nodes {
		t.stored, t.lost = 0, true
	}
	s.inventory.stored, s.inventory.sure = false, false
}

// Last is the last that the hub took, which a broker that lost its last writes or came from a backup has lost first: the
// sequence of the inventory, and the node told last with the sequence of its event, 0 when there is none.
func (s *Sync) Last() (inventory uint64, name string, event uint64) {
	if t := s.nodes[s.newest]; t != nil {
		event = t.sequence
	}
	return s.inventory.sequence, s.newest, event
}

// Lacks judges what was read back, with its start of the agent, against the sequence that was taken.
func (s *Sync) Lacks(boot string, sequence, taken uint64) bool {
	return boot != s.boot || sequence < taken
}

// Resume takes up the inventory that an earlier process of the agent told: what is told from now on is later than that.
// It returns the nodes whose events are to be read back for TakeUp, unless all is calm: no node goes, or has gone, since,
// and all pods that had none are there.
func (s *Sync) Resume(inv *api.NodeInventory) (names []string, calm bool) {
	s.floor = inv.At.UTC().Truncate(time.Second)
	names = slices.Sorted(maps.Keys(inv.Nodes))
	calm = !slices.ContainsFunc(names, func(name string) bool {
		t := s.nodes[name]
		return t == nil || t.gone || Going(&t.state)
	})
	here := there(s.nodes, s.inventory.now.Pending)
	for i := range inv.Pending {
		calm = calm && here[podKey(&inv.Pending[i])]
	}
	return names, calm
}

// TakeUp takes up the nodes that an earlier process told last, beside its inventory: the pods that left nodes which go
// since then, or shortly before, are between two nodes. It reports whether there are any.
func (s *Sync) TakeUp(told []api.NodeState, inv *api.NodeInventory, now time.Time) bool {
	if !s.between.resume(told, s.nodes, inv.Pending, s.inventory.now.Pending, now) {
		return false
	}
	s.between.tell(&s.inventory.now, now)
	return true
}
