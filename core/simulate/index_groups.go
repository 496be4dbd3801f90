package simulate

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"flotilla/core/capacity"
	"flotilla/core/cluster"
)

// groupIndex are the groups of pods that keep each other near or away.
type groupIndex struct {
	groups []*group
	byID   map[string]*group
	lookup groupLookup
	shapes shapes
	effort
}

// join returns the group that is already there, or g.
func (x *groupIndex) join(g *group) *group {
	x.made += g.weight
	id := g.identity()
	if old := x.byID[id]; old != nil {
		return old
	}
	g.id, g.counts, g.work, g.visit = id, map[string]int{}, x.Work, aGroup+g.filter.cost()
	if g.key != corev1.LabelHostname {
		g.known = map[string]int{}
	}
	x.byID[id] = g
	x.groups = append(x.groups, g)
	return g
}

// addGroups makes the groups that pods ask for, and counts the pods in them.
func (x *Index) addGroups() {
	x.askGroups()
	if x.made > mostMade {
		return
	}
	slices.SortFunc(x.groups, func(a, b *group) int { return strings.Compare(a.id, b.id) })
	for i, g := range x.groups {
		g.rank = i
	}
	x.knowDomains()
	x.lookup = newGroupLookup(x.groups)
	if len(x.groups) == 0 && len(x.shapes.of) == 0 {
		return
	}
	moves := make(map[*cluster.Pod]bool)
	for _, m := range x.Waiting {
		m.Links = x.linksOf(m.Pod)
		moves[m.Pod] = true
	}
	for _, n := range x.Nodes {
		if x.Spend(aPod * len(n.Pods)); x.Stopped() {
			return
		}
		x.linkNode(n, moves)
	}
}

// linkNode relates the pods of a node to groups, and counts those that do not move in every simulation.
func (x *Index) linkNode(n *ExistingNode, moves map[*cluster.Pod]bool) {
	for _, m := range n.Movable {
		m.Links = x.linksOf(m.Pod)
		if m.Active && !moves[m.Pod] {
			x.count(m.Links, n)
		}
	}
	for i := range n.Pods {
		if p := &n.Pods[i]; p.Active && !n.moving[i] {
			x.count(x.linksOf(p), n)
		}
	}
}

// askGroups finds every pod with constraints that may move, and every one that keeps others away.
func (x *Index) askGroups() {
	ask := func(m *Moving) {
		if x.made > mostMade || x.Stopped() {
			return
		}
		if !m.Plain || x.preferTaints {
			x.variantsOf(m.Pod)
		}
	}
	for _, m := range x.Waiting {
		ask(m)
		x.keepAway(m.Pod)
	}
	for _, n := range x.Nodes {
		x.Spend(aPod * len(n.Pods))
		for _, m := range n.Movable {
			ask(m)
		}
		for i := range n.Pods {
			if p := &n.Pods[i]; p.Active {
				x.keepAway(p)
			}
		}
	}
}

// keepAway makes the groups by which others see a pod's required anti-affinity.
func (x *Index) keepAway(p *cluster.Pod) {
	terms := keptAway(p)
	if len(terms) == 0 || p.Tangled || x.made > mostMade {
		return
	}
	if s := x.shapeOf(p); s.keeps == nil {
		for i := range terms {
			s.keeps = append(s.keeps, x.termGroup(ownersGroup, p, &terms[i]))
		}
	}
}

// keptAway are the terms of a pod's required anti-affinity, which others heed too.
func keptAway(p *cluster.Pod) []corev1.PodAffinityTerm {
	if a := p.State.Affinity; a != nil && a.PodAntiAffinity != nil {
		return a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	}
	return nil
}

// knowDomains tells every group which domains there are: those of types that pools may buy, and
// those of nodes.
func (x *Index) knowDomains() {
	every := map[string]map[string]int{} // by key, for groups that count every node
	for _, g := range x.groups {
		switch {
		case g.known == nil, x.Stopped():
		case g.filter.taints || len(g.filter.terms) > 0:
			if g.known = map[string]int{}; x.asked <= mostAsked {
				g.known = x.domainsOf(g)
			}
			x.asked += aDomain * len(g.known)
		default:
			if every[g.key] == nil {
				every[g.key] = x.domainsOf(g)
			}
			x.asked += aDomain * len(every[g.key])
			if g.known = every[g.key]; x.asked <= mostAsked { // beyond it nothing is simulated
				g.known = maps.Clone(every[g.key])
			}
		}
	}
}

// domainsOf are the domains of a group's key, with how many pools and nodes speak for each.
func (x *Index) domainsOf(g *group) map[string]int {
	known := map[string]int{}
	x.Spend(len(x.Nodes) * g.visit)
	for _, p := range x.Pools {
		if p.Static || p.Deleting || g.filter.taints && cluster.Repelled(g.filter.tolerations, p.Taints) != nil {
			continue
		}
		x.Spend(aType * len(p.Types))
		for d := range poolDomains(p, g.key) {
			known[d]++
		}
	}
	for _, n := range x.Nodes {
		if d, ok := n.domain(g.key); ok && !n.Deleting && g.filter.node(n) {
			known[d]++
		}
	}
	return known
}

// poolDomains are the values of a label that nodes of a pool can have.
func poolDomains(p *capacity.Pool, key string) map[string]bool {
	out := make(map[string]bool)
	mine := p.Needs.Get(key)
	if mine != nil && !mine.Anything {
		for _, v := range mine.Values {
			out[v] = true
		}
	}
	for _, m := range p.Types {
		s := m.Needs.Get(key)
		if s == nil || s.Anything {
			continue
		}
		for _, v := range s.Values {
			if mine == nil || mine.Has(v) {
				out[v] = true
			}
		}
	}
	return out
}

// count adds a pod to the groups that count it where it is.
func (x *Index) count(l *links, n *ExistingNode) {
	if x.asked += len(l.counted) + len(l.keeps); x.asked > mostAsked {
		return
	}
	x.Spend(aGroup * len(l.keeps))
	for _, g := range l.counted {
		x.Spend(g.visit)
		if d, ok := n.domain(g.key); ok && g.filter.node(n) {
			g.take(d, 1)
		}
	}
	for _, g := range l.keeps {
		if d, ok := n.domain(g.key); ok {
			g.take(d, 1)
		}
	}
}
