package disruption

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"flotilla/core/api"
)

// aftermath is a member as it is foreseen once the nodes of some commands are gone. Pods that no simulation
// moved are put onto its nodes as the member's scheduler would; no other node is made for them.
type aftermath struct {
	run    *run
	moving map[*pod]*moving
	shown  map[*inode]string // the new nodes, as their command names them
	last   obstructed
}

// obstructed is why the last pod that restricts nothing found no node: the next that asks for as much finds none
// for the same reasons, until others have been placed.
type obstructed struct {
	asked  [baseResources]int64
	placed int
	own    *inode // the first of its command's
	why    string
}

// after is the member once departures are over and pods have moved as a simulation says; of pods it will be
// asked where they go. New nodes are taken to be of the type and offering that cost least.
func (x *Index) after(going []*departure, moves []move, pods []*pod) *aftermath {
	c := *x.state.Cluster
	c.resources = resources{maps.Clone(c.resources.index)}
	c.nodes, c.pending, c.budgets, c.placing = map[string]*node{}, pods, nil, true
	gone := map[*inode]bool{}
	for _, g := range going {
		for _, n := range g.nodes {
			gone[n] = true
		}
	}
	var order []string
	for _, n := range x.order {
		if gone[n] {
			continue
		}
		c.nodes[n.state.Name] = n.node
		if n.state.Initialized || !n.state.Managed {
			order = append(order, n.state.Name)
		}
	}
	fresh := map[*claim]string{}
	for i, g := range going {
		for _, claim := range g.claims {
			fresh[claim] = fmt.Sprintf("%s/%d", claim.hostname, i)
			c.nodes[fresh[claim]] = c.newNode(claim.expected(fresh[claim]))
		}
	}
	for i := range moves {
		m := &moves[i]
		c.receive(cmp.Or(fresh[m.claim], m.to()), m.pod.pod)
	}
	a := &aftermath{run: &run{out: &outcome{}}, moving: map[*pod]*moving{}, shown: map[*inode]string{}}
	a.run.x = NewIndex(&State{Cluster: &c, Now: x.state.Now, Rules: x.state.Rules})
	a.run.x.tryInOrder(order)
	for _, m := range a.run.x.waiting {
		a.moving[m.pod] = m
		m.pin = a.run.x.byName[x.state.Promised[m.key]]
	}
	for _, g := range going {
		for _, claim := range g.claims {
			n := a.run.x.byName[fresh[claim]]
			g.fresh, a.shown[n] = append(g.fresh, n), claim.hostname
		}
	}
	return a
}

// receive puts a pod on a node, which stays as it is in other clusters that have it.
func (c *Cluster) receive(name string, p *pod) {
	n := *c.nodes[name]
	n.pods = append(slices.Clip(n.pods), *p)
	c.nodes[name] = &n
}

// to names where a move leads.
func (m *move) to() string {
	if m.node != nil {
		return m.node.state.Name
	}
	return m.claim.hostname
}

// expected is the node that a claim becomes when it is launched at its lowest price.
func (c *claim) expected(name string) *api.NodeState {
	m := byPrice(c.types, c.needs)[0]
	labels := map[string]string{}
	for i := range c.needs {
		if n := &c.needs[i]; !n.set.anything && len(n.set.values) == 1 {
			labels[n.key] = n.set.values[0]
		}
	}
	maps.Copy(labels, m.labels)
	offering := m.launchType(c.needs).Offerings[0]
	labels[corev1.LabelTopologyZone], labels[api.LabelCapacityType], labels[corev1.LabelHostname] = offering.Zone, offering.CapacityType, name
	return &api.NodeState{
		Name: name, Labels: labels, Taints: c.pool.taints, Capacity: m.capacity, Allocatable: m.allocatable,
		Managed: true, Ready: true, Initialized: true,
	}
}

// place puts a pod on a node of the member, or on one of its command's own, and returns the node's name, or
// why none takes it.
func (a *aftermath) place(p *pod, own []*inode) (to, nowhere string) {
	m := a.moving[p]
	if m == nil {
		return "", noClaim
	}
	if a.run.settlePinned(m) {
		return m.pin.state.Name, ""
	}
	var last *variant
	for v := m.links.variant; v != nil; v = v.softer {
		n := a.run.firstFit(m, v)
		if n == nil {
			n = a.firstOf(own, m, v)
		}
		if n != nil {
			a.run.settle(m, n)
			return cmp.Or(a.shown[n], n.state.Name), ""
		}
		last = v
	}
	return "", a.obstacles(m, last, own)
}

// obstacles says why none of the nodes takes a pod.
func (a *aftermath) obstacles(m *moving, v *variant, own []*inode) string {
	nodes := slices.Concat(a.run.x.order, own)
	if len(nodes) == 0 {
		return "there is no other node"
	}
	plain := v == plainLinks.variant && len(m.req.more) == 0 && len(m.links.avoids) == 0
	asked := obstructed{asked: m.req.base, placed: len(a.run.x.journal.placed), why: a.last.why}
	if len(own) > 0 {
		asked.own = own[0]
	}
	if plain && a.last == asked {
		return a.last.why
	}
	asked.why = fmt.Sprintf("0/%d nodes are available: %s", len(nodes), a.run.obstacles(nodes, m, v))
	if plain {
		a.last = asked
	}
	return asked.why
}

func (a *aftermath) firstOf(nodes []*inode, m *moving, v *variant) *inode {
	i := slices.IndexFunc(nodes, func(n *inode) bool { return m.req.fitsIn(n.free) && takes(n, m, v, false) })
	if i < 0 {
		return nil
	}
	return nodes[i]
}
