package disruption

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"flotilla/core/cluster"
	"flotilla/core/simulate"
)

// aftermath is a member as it is foreseen once the nodes of some commands are gone. Pods that no simulation
// moved are put onto its nodes as the member's scheduler would; no other node is made for them.
type aftermath struct {
	run    *simulate.Run
	moving map[*cluster.Pod]*simulate.Moving
	shown  map[*simulate.ExistingNode]string // the new nodes, as their command names them
	last   obstructed
}

// obstructed is why the last pod that restricts nothing found no node: the next that asks for as much finds none
// for the same reasons, until others have been placed.
type obstructed struct {
	asked  [cluster.BaseResources]int64
	placed int
	own    *simulate.ExistingNode // the first of its command's
	why    string
}

// aftermathOf is the member once departures are over and pods have moved as a simulation says; of pods it will be
// asked where they go. New nodes are taken to be of the type and offering that cost least.
func aftermathOf(x *simulate.Index, going []*departure, moves []simulate.Move, pods []*cluster.Pod) *aftermath {
	c := *x.State.Cluster
	c.Resources = cluster.Resources{Index: maps.Clone(c.Resources.Index), Full: c.Resources.Full}
	c.Nodes, c.Pending, c.Budgets, c.Placing = map[string]*cluster.Node{}, pods, nil, true
	gone := map[*simulate.ExistingNode]bool{}
	for _, g := range going {
		for _, n := range g.nodes {
			gone[n] = true
		}
	}
	var order []string
	for _, n := range x.Order {
		if gone[n] {
			continue
		}
		c.Nodes[n.State.Name] = n.Node
		if n.State.Initialized || !n.State.Managed {
			order = append(order, n.State.Name)
		}
	}
	fresh := map[*simulate.Claim]string{}
	for i, g := range going {
		for _, claim := range g.claims {
			fresh[claim] = fmt.Sprintf("%s/%d", claim.Hostname, i)
			c.Nodes[fresh[claim]] = c.NewNode(claim.Expected(fresh[claim]))
		}
	}
	for i := range moves {
		m := &moves[i]
		to := cmp.Or(fresh[m.Claim], m.To())
		x.Spend(oneMove + oneCopy*len(c.Nodes[to].Pods))
		c.Receive(to, m.Pod.Pod)
	}
	a := &aftermath{run: &simulate.Run{X: x.Beside(&simulate.State{Cluster: &c, Now: x.State.Now, Rules: x.State.Rules}), Out: &simulate.Outcome{}}, moving: map[*cluster.Pod]*simulate.Moving{}, shown: map[*simulate.ExistingNode]string{}}
	a.run.X.TryInOrder(order)
	for _, m := range a.run.X.Waiting {
		a.moving[m.Pod] = m
		m.Pin = a.run.X.ByName[x.State.Promised[m.Key]]
	}
	for _, g := range going {
		for _, claim := range g.claims {
			n := a.run.X.ByName[fresh[claim]]
			g.fresh, a.shown[n] = append(g.fresh, n), claim.Hostname
		}
	}
	return a
}

// place puts a pod on a node of the member, or on one of its command's own, and returns the node's name, or
// why none takes it.
func (a *aftermath) place(p *cluster.Pod, own []*simulate.ExistingNode) (to, nowhere string) {
	m := a.moving[p]
	switch {
	case a.run.X.Stopped():
		return "", ""
	case m == nil && p.Tangled:
		return "", "it has more terms of affinity and spread than are followed"
	case m == nil:
		return "", simulate.NoClaim
	}
	if a.run.SettlePinned(m) {
		return m.Pin.State.Name, ""
	}
	var last *simulate.Variant
	for v := m.Links.Variant; v != nil; v = v.Softer {
		n := a.run.FirstFit(m, v)
		if n == nil {
			n = a.firstOf(own, m, v)
		}
		if n != nil {
			a.run.Settle(m, n)
			return cmp.Or(a.shown[n], n.State.Name), ""
		}
		last = v
	}
	return "", a.obstacles(m, last, own)
}

// obstacles says why none of the nodes takes a pod.
func (a *aftermath) obstacles(m *simulate.Moving, v *simulate.Variant, own []*simulate.ExistingNode) string {
	nodes := slices.Concat(a.run.X.Order, own)
	if len(nodes) == 0 {
		return "there is no other node"
	}
	plain := v == simulate.PlainLinks.Variant && len(m.Requests.More) == 0 && len(m.Links.Avoids) == 0
	asked := obstructed{asked: m.Requests.Base, placed: len(a.run.X.Journal.Placed), why: a.last.why}
	if len(own) > 0 {
		asked.own = own[0]
	}
	if plain && a.last == asked {
		return a.last.why
	}
	asked.why = fmt.Sprintf("0/%d nodes are available: %s", len(nodes), a.run.Obstacles(nodes, m, v))
	if plain {
		a.last = asked
	}
	return asked.why
}

func (a *aftermath) firstOf(nodes []*simulate.ExistingNode, m *simulate.Moving, v *simulate.Variant) *simulate.ExistingNode {
	i := slices.IndexFunc(nodes, func(n *simulate.ExistingNode) bool {
		return m.Requests.FitsIn(n.Free) && a.run.Takes(n, m, v)
	})
	if i < 0 {
		return nil
	}
	return nodes[i]
}
