package simulate

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/selection"

	"flotilla/core/capacity"
	"flotilla/core/cluster"
)

// groupIndex are the groups of pods that keep each other near or away.
type groupIndex struct {
	groups []*group
	byID   map[string]*group
	lookup groupLookup
	links  map[*cluster.Pod]*links
}

// join returns the group that is already there, or g.
func (x *groupIndex) join(g *group) *group {
	id := g.identity()
	if old := x.byID[id]; old != nil {
		return old
	}
	g.counts = map[string]int{}
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
	if len(x.groups) == 0 {
		return
	}
	slices.SortFunc(x.groups, func(a, b *group) int { return strings.Compare(a.identity(), b.identity()) })
	for i, g := range x.groups {
		g.rank = i
	}
	x.knowDomains()
	x.lookup = newGroupLookup(x.groups)
	moves := make(map[*cluster.Pod]bool)
	for _, m := range x.Waiting {
		x.link(m)
		moves[m.Pod] = true
	}
	for _, n := range x.Nodes {
		for _, m := range n.Movable {
			x.link(m)
		}
		for i := range n.Pods {
			if p := &n.Pods[i]; p.Active && !moves[p] {
				x.count(x.linksOf(p), n, 1)
			}
		}
	}
}

// askGroups finds every pod with constraints that may move, and every one that keeps others away.
func (x *Index) askGroups() {
	ask := func(m *Moving) {
		if !m.Plain || x.preferTaints {
			x.ensure(m.Pod).Variant = x.variants(m.Pod)
		}
	}
	for _, m := range x.Waiting {
		ask(m)
	}
	for _, n := range x.Nodes {
		for _, m := range n.Movable {
			ask(m)
		}
		for i := range n.Pods {
			if p := &n.Pods[i]; p.Active {
				x.keepAway(p)
			}
		}
	}
	for _, m := range x.Waiting {
		x.keepAway(m.Pod)
	}
	for _, n := range x.Nodes {
		for _, m := range n.Movable {
			if l := x.links[m.Pod]; l != nil {
				m.Links = l
			}
		}
	}
	for _, m := range x.Waiting {
		if l := x.links[m.Pod]; l != nil {
			m.Links = l
		}
	}
}

func (x *groupIndex) ensure(p *cluster.Pod) *links {
	l := x.links[p]
	if l == nil {
		l = &links{Variant: PlainLinks.Variant}
		x.links[p] = l
	}
	return l
}

// keepAway makes the groups by which others see a pod's required anti-affinity.
func (x *Index) keepAway(p *cluster.Pod) {
	a := p.State.Affinity
	if a == nil || a.PodAntiAffinity == nil {
		return
	}
	terms := a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	if len(terms) == 0 || len(x.ensure(p).keeps) > 0 {
		return
	}
	l := x.ensure(p)
	for i := range terms {
		l.keeps = append(l.keeps, x.termGroup(ownersGroup, p, &terms[i]))
	}
}

// knowDomains tells every group which domains there are: those of types that pools may buy, and
// those of nodes.
func (x *Index) knowDomains() {
	for _, g := range x.groups {
		if g.known == nil {
			continue
		}
		for _, p := range x.Pools {
			if p.Static || p.Deleting || g.filter.taints && cluster.Repelled(g.filter.tolerations, p.Taints) != nil {
				continue
			}
			for d := range poolDomains(p, g.key) {
				g.known[d]++
			}
		}
		for _, n := range x.Nodes {
			if d, ok := n.domain(g.key); ok && !n.Deleting && g.filter.node(n) {
				g.known[d]++
			}
		}
	}
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

// groupLookup finds the groups that may select a pod without asking all of them.
type groupLookup struct {
	byLabel map[[2]string][]*group // by one label that the selector demands
	rest    []*group
}

func newGroupLookup(groups []*group) groupLookup {
	l := groupLookup{byLabel: map[[2]string][]*group{}}
	for _, g := range groups {
		if label, ok := demanded(g); ok {
			l.byLabel[label] = append(l.byLabel[label], g)
		} else {
			l.rest = append(l.rest, g)
		}
	}
	return l
}

func demanded(g *group) ([2]string, bool) {
	requirements, _ := g.selector.Requirements()
	for _, r := range requirements {
		if (r.Operator() == selection.In || r.Operator() == selection.Equals) && r.Values().Len() == 1 {
			return [2]string{r.Key(), r.Values().List()[0]}, true
		}
	}
	return [2]string{}, false
}

// linksOf returns the relations of a pod, nil when it has none.
func (x *Index) linksOf(p *cluster.Pod) *links {
	l := x.links[p]
	if l != nil && (l.counted != nil || l.Avoids != nil) {
		return l
	}
	add := func(g *group) {
		if !g.selects(p) {
			return
		}
		if l == nil {
			l = x.ensure(p)
		}
		if g.kind == ownersGroup {
			l.Avoids = append(l.Avoids, g)
		} else {
			l.counted = append(l.counted, g)
		}
	}
	for k, v := range p.State.Labels {
		for _, g := range x.lookup.byLabel[[2]string{k, v}] {
			add(g)
		}
	}
	for _, g := range x.lookup.rest {
		add(g)
	}
	if l != nil {
		byRank := func(a, b *group) int { return a.rank - b.rank }
		slices.SortFunc(l.counted, byRank)
		slices.SortFunc(l.Avoids, byRank)
	}
	return l
}

func (x *Index) link(m *Moving) {
	if l := x.linksOf(m.Pod); l != nil {
		m.Links = l
	}
}

// count adds a pod, sign times, to the groups that count it where it is.
func (x *Index) count(l *links, n *ExistingNode, sign int) {
	if l == nil {
		return
	}
	for _, g := range l.counted {
		if d, ok := n.domain(g.key); ok && g.filter.node(n) {
			g.take(d, sign)
		}
	}
	for _, g := range l.keeps {
		if d, ok := n.domain(g.key); ok {
			g.take(d, sign)
		}
	}
}
