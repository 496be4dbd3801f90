package told

import (
	"fmt"
	"slices"
	"time"

	"flotilla/core/cluster"
)

// Nodes are those of one member as its agent tells of them. What it has of its inbox may be called from any goroutine,
// the rest is for one at a time.
type Nodes struct {
	inbox
	// View is what was decoded, and Version counts its changes.
	View    *cluster.View
	Version uint64
	// Listed says that an inventory came of which the stored states have not been compared.
	Listed bool
	// States are what the view was made from, and what it lacks: of each node, and of no name as the inventory, the
	// newest. What is not among them stays in the view for good.
	States map[string]*State

	count uint64    // of states that came
	heard time.Time // when the inventory of the view was stored, by the hub's clock
	// shared is what their values are kept in.
	shared  *Interner
	weights weights
	// crowded are states that the view had no room for, by node: they are read once it has.
	crowded map[string]*State
}

// Of are nodes of which nothing was told, that share values with those of others. What the view has of them takes about so many bytes at most,
// 0 for as many as come: what is beyond that is not read.
func Of(shared *Interner, most int64) Nodes {
	return Nodes{View: cluster.NewView(), shared: shared, weights: weights{most: most}}
}

// Blank says that nothing is known of them.
func (n *Nodes) Blank() bool { return n.View.Cluster.Len() == 0 && n.View.Inventoried().IsZero() }

// Stale says why the view is too old to act on, "" when it is not. The age of the inventory goes by one
// clock, the hub's.
func (n *Nodes) Stale(now time.Time, most time.Duration) string {
	at := n.View.Inventoried()
	if !at.IsZero() {
		at = at.Add(now.Sub(n.heard))
	}
	return n.View.Stale(at, most)
}

// mostSkew is how far the clocks of an agent and the hub may be apart.
const mostSkew = 15 * time.Minute

// Skewed says that the clock of the agent is far off the hub's, "" when it is not: ages of pods and nodes go
// by both. An inventory is told minutes after the look that it is of, at most.
func (n *Nodes) Skewed() string {
	at := n.View.Inventoried()
	switch off := n.heard.Sub(at).Truncate(time.Second); {
	case at.IsZero():
		return ""
	case off > mostSkew:
		return fmt.Sprintf("the clock of its agent is %s behind the hub's", off)
	case off < -mostSkew:
		return fmt.Sprintf("the clock of its agent is %s ahead of the hub's", -off)
	default:
		return ""
	}
}

// Lay forgets the view, and reports whether it did: when all of it can be made again of what is held.
func (n *Nodes) Lay() bool {
	for node := range n.View.Cluster.Nodes {
		if n.States[node] == nil {
			return false // from when there were NodePools, until it is told anew
		}
	}
	if !n.View.Inventoried().IsZero() && n.States[inventory] == nil {
		return false
	}
	for _, s := range n.States {
		s.read = false
	}
	n.View = cluster.NewView()
	n.weights.clear()
	n.crowded = nil
	n.Version++
	return true
}

// Lift takes what came to what is held. What is not known to be newer than what is held of the same node is read, so that
// the view decides.
func (n *Nodes) Lift() (r Reading) {
	for _, a := range n.take() {
		delete(n.crowded, a.Node)
		if a.Gone {
			n.forget(a.Node)
			n.Version++
			delete(n.States, a.Node)
			continue
		}
		s := &State{Arrival: a}
		if old := n.States[a.Node]; old != nil && !s.follows(old) {
			if !old.read {
				n.read(&r, old)
			}
			if !n.read(&r, s) {
				continue
			}
		}
		n.put(s)
		r.Inventory = r.Inventory || a.Node == inventory
	}
	return r
}

// Fold takes what came into the view, and what that lacked. Where something newer cannot be read, what was known before
// is forgotten.
func (n *Nodes) Fold() Reading {
	r := n.Lift()
	n.readThose(&r, func(string) bool { return true })
	n.readCrowded(&r)
	return r
}

// FoldUnlisted is Fold for those who ask only which nodes the inventory does not name: it decodes what is stored of such,
// and the inventory if there is any. Names are those of all nodes of which something is stored once all that came is
// taken.
func (n *Nodes) FoldUnlisted(names func() []string) Reading {
	r := n.Lift()
	stored, newest := names(), n.States[inventory]
	if newest == nil || newest.read {
		n.readThose(&r, among(n.View.Unconfirmed(stored)))
		return r
	}
	listed, ok := newest.listed()
	unlisted := slices.DeleteFunc(stored, func(node string) bool { _, is := listed[node]; return is })
	if !ok {
		unlisted = nil // read, it says that it cannot be
	}
	if !ok || len(unlisted) > 0 {
		n.readThose(&r, among(append(unlisted, inventory)))
	}
	return r
}

func among(nodes []string) func(string) bool {
	set := make(map[string]bool, len(nodes))
	for _, node := range nodes {
		set[node] = true
	}
	return func(node string) bool { return set[node] }
}
