package simulate

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"flotilla/core/capacity"
	"flotilla/core/cluster"
)

type groupKind int

const (
	spreadGroup groupKind = iota
	affinityGroup
	antiGroup
	// ownersGroup counts pods that keep others away, where antiGroup counts those others.
	ownersGroup
)

func (k groupKind) String() string {
	return [...]string{"topology spread", "pod affinity", "pod anti-affinity", "another pod's anti-affinity"}[k]
}

// group counts pods by the domain of one topology key.
type group struct {
	id         string
	kind       groupKind
	rank       int // its place among the groups of an index
	key        string
	spaces     []string // namespaces, nil for all
	selector   labels.Selector
	maxSkew    int
	minDomains int
	filter     filter
	weight     int
	visit      int   // what it takes to count a pod or a node
	work       *Work // of the decision
	lowest     lowest
	counts     map[string]int
	// known are the domains there are, with how many nodes and types speak for each; nil for
	// hostnames, of which there can always be another.
	known map[string]int
}

// lowest is the smallest count that was found last: it stands until a count changes, or a domain comes or goes.
type lowest struct {
	found   bool
	allowed *capacity.Set
	n       int
}

// filter says which nodes count for a spread.
type filter struct {
	terms       []capacity.Needs // any of which a node must satisfy; nil for all nodes
	tolerations []corev1.Toleration
	taints      bool // taints that are not tolerated count a node out
}

func (f *filter) node(n *ExistingNode) bool {
	if f.taints && cluster.Repelled(f.tolerations, n.taints) != nil {
		return false
	}
	return len(f.terms) == 0 || slices.ContainsFunc(f.terms, func(t capacity.Needs) bool {
		return t.Admits(n.Labels, n.Hostname)
	})
}

func (f *filter) claim(taints []corev1.Taint, n capacity.Needs) bool {
	if f.taints && cluster.Repelled(f.tolerations, taints) != nil {
		return false
	}
	return len(f.terms) == 0 || slices.ContainsFunc(f.terms, func(t capacity.Needs) bool {
		_, ok := n.Allows(t, nil)
		return ok
	})
}

func (g *group) selects(p *cluster.Pod) bool {
	g.work.Spend(aSelect*g.weight + aSpace*len(g.spaces))
	if g.spaces != nil && !slices.Contains(g.spaces, p.State.Namespace) {
		return false
	}
	return g.selector.Matches(labels.Set(p.State.Labels))
}

// take adds n to the count of a domain.
func (g *group) take(domain string, n int) {
	g.counts[domain] += n
	g.lowest.found = false
}

// know adds n to what speaks for a domain.
func (g *group) know(domain string, n int) {
	g.known[domain] += n
	g.lowest.found = false
}

// has reports whether a domain exists.
func (g *group) has(domain string) bool {
	return g.known == nil || g.known[domain] > 0 || g.counts[domain] > 0
}

// least is the smallest count over the domains that a pod may be in.
func (g *group) least(allowed *capacity.Set) int {
	if g.known == nil {
		return 0
	}
	if l := &g.lowest; l.found && l.allowed == allowed {
		return l.n
	}
	g.lowest = lowest{true, allowed, g.smallest(allowed)}
	return g.lowest.n
}

func (g *group) smallest(allowed *capacity.Set) int {
	least, domains := -1, 0
	g.work.Spend(aCount * (len(g.known) + len(g.counts)))
	for d := range g.domains() {
		if allowed != nil && !allowed.Has(d) {
			continue
		}
		domains++
		if n := g.counts[d]; least < 0 || n < least {
			least = n
		}
	}
	if least < 0 || g.minDomains > domains {
		return 0
	}
	return least
}

// domains yields every domain that exists, in no order.
func (g *group) domains() func(func(string) bool) {
	return func(yield func(string) bool) {
		for d, n := range g.known {
			if n > 0 && !yield(d) {
				return
			}
		}
		for d, n := range g.counts {
			if n > 0 && g.known[d] <= 0 && !yield(d) {
				return
			}
		}
	}
}

// populated reports whether some domain within allowed has a pod.
func (g *group) populated(allowed *capacity.Set) bool {
	g.work.Spend(aCount * len(g.counts))
	for d, n := range g.counts {
		if n > 0 && (allowed == nil || allowed.Has(d)) {
			return true
		}
	}
	return false
}

// admits reports whether a pod may be placed on a node of one domain.
func (g *group) admits(p *cluster.Pod, domain string, allowed *capacity.Set) bool {
	if g.work.Spend(aGroup); !g.has(domain) {
		return false
	}
	switch g.kind {
	case spreadGroup:
		n := g.counts[domain]
		if g.selects(p) {
			n++
		}
		return n-g.least(allowed) <= g.maxSkew
	case affinityGroup:
		if allowed != nil && !allowed.Has(domain) {
			return false
		}
		return g.counts[domain] > 0 || g.selects(p) && !g.populated(allowed)
	default:
		return g.counts[domain] == 0 && (allowed == nil || allowed.Has(domain))
	}
}

// choose returns the domains within open that a pod may be placed in: one for a spread, the least
// populated, the first by name of equal ones (N7); every possible one otherwise.
func (g *group) choose(p *cluster.Pod, open, allowed *capacity.Set) capacity.Set {
	if g.known == nil {
		if len(open.Values) == 1 && !open.Anything && g.admits(p, open.Values[0], allowed) {
			return capacity.OneValue(open.Values[0])
		}
		return capacity.Set{}
	}
	var fit []string
	g.work.Spend(aCount * (len(g.known) + len(g.counts)))
	for d := range g.domains() {
		if open.Has(d) && g.admits(p, d, allowed) {
			fit = append(fit, d)
		}
	}
	slices.Sort(fit)
	if g.kind == spreadGroup && len(fit) > 1 {
		best := fit[0]
		for _, d := range fit {
			if g.counts[d] < g.counts[best] {
				best = d
			}
		}
		fit = []string{best}
	}
	if g.kind == affinityGroup && len(fit) > 1 && g.counts[fit[0]] == 0 && !g.populated(allowed) {
		fit = fit[:1]
	}
	return capacity.Set{Values: fit}
}

// refusal says why no domain will do.
func (g *group) refusal() string {
	var counts []string
	g.work.Spend(aText + aCount*(len(g.known)+len(g.counts)))
	text := fmt.Sprintf("unsatisfiable topology constraint for %s, key=%s", g.kind, g.key)
	for d := range g.domains() {
		if len(counts) == toldDomains {
			return text
		}
		counts = append(counts, fmt.Sprintf("%s: %d", d, g.counts[d]))
	}
	if len(counts) == 0 {
		return text
	}
	slices.Sort(counts)
	return text + " (counts = " + strings.Join(counts, ", ") + ")"
}

// toldDomains is of how many domains a refusal tells the counts; of more it tells none.
const toldDomains = 10

// identity tells groups apart.
func (g *group) identity() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d|%s|%q|%s|%d|%d|%v", g.kind, g.key, g.spaces, g.selector, g.maxSkew, g.minDomains, g.filter.taints)
	for _, t := range g.filter.terms {
		for i := range t {
			fmt.Fprintf(&b, "|%s %s", t[i].Key, &t[i].Set)
		}
		b.WriteString("||")
	}
	if g.filter.taints {
		fmt.Fprintf(&b, "%v", g.filter.tolerations)
	}
	return b.String()
}

// termGroup is the group of one affinity term of a pod.
func (x *Index) termGroup(kind groupKind, p *cluster.Pod, term *corev1.PodAffinityTerm) *group {
	selector := cluster.SelectorOf(term.LabelSelector)
	selector = withKeys(selector, p, term.MatchLabelKeys, true)
	selector = withKeys(selector, p, term.MismatchLabelKeys, false)
	return x.join(&group{
		kind: kind, key: capacity.CanonicalLabel(term.TopologyKey), selector: selector,
		spaces: x.termSpaces(p, term), weight: weightOf(term.LabelSelector),
	})
}

func (x *Index) termSpaces(p *cluster.Pod, term *corev1.PodAffinityTerm) []string {
	if len(term.Namespaces) == 0 && term.NamespaceSelector == nil {
		return []string{p.State.Namespace}
	}
	x.made += len(term.Namespaces) / aTerm
	spaces := slices.Clone(term.Namespaces)
	if s := term.NamespaceSelector; s != nil {
		x.made += len(x.State.Cluster.Spaces) / aTerm
		if len(s.MatchLabels) == 0 && len(s.MatchExpressions) == 0 {
			return nil
		}
		selector := cluster.SelectorOf(s)
		for name, l := range x.State.Cluster.Spaces {
			if selector.Matches(labels.Set(l)) {
				spaces = append(spaces, name)
			}
		}
	}
	slices.Sort(spaces)
	return append([]string{}, slices.Compact(spaces)...)
}

// withKeys adds the pod's own values of some label keys to a selector.
func withKeys(s labels.Selector, p *cluster.Pod, keys []string, match bool) labels.Selector {
	for _, key := range keys {
		v, ok := p.State.Labels[key]
		if !ok {
			continue
		}
		op := metav1.LabelSelectorOpIn
		if !match {
			op = metav1.LabelSelectorOpNotIn
		}
		more := cluster.SelectorOf(&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: key, Operator: op, Values: []string{v}}}})
		if r, selectable := more.Requirements(); selectable {
			s = s.Add(r...)
		}
	}
	return s
}

// spreadOf is the group of one spread constraint of a pod.
func (x *Index) spreadOf(p *cluster.Pod, c *corev1.TopologySpreadConstraint, terms []capacity.Needs) *group {
	g := &group{
		kind: spreadGroup, key: capacity.CanonicalLabel(c.TopologyKey), spaces: []string{p.State.Namespace},
		selector: withKeys(cluster.SelectorOf(c.LabelSelector), p, c.MatchLabelKeys, true), maxSkew: int(c.MaxSkew),
		weight: weightOf(c.LabelSelector),
	}
	if c.MinDomains != nil {
		g.minDomains = int(*c.MinDomains)
	}
	if c.NodeAffinityPolicy == nil || *c.NodeAffinityPolicy == corev1.NodeInclusionPolicyHonor {
		g.filter.terms = terms
	}
	if c.NodeTaintsPolicy != nil && *c.NodeTaintsPolicy == corev1.NodeInclusionPolicyHonor {
		g.filter.taints, g.filter.tolerations = true, p.State.Tolerations
	}
	return x.join(g)
}
