package scheduling

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"flotilla/agent/target/memory/podspec"
)

// group are the pods that a term of an affinity is about.
type group struct {
	selector labels.Selector
	spaces   func(namespace string) bool
}

func (m *Member) group(owner string, selector *metav1.LabelSelector, names []string, spaces *metav1.LabelSelector) group {
	matching := func(s *metav1.LabelSelector) labels.Selector {
		out, err := metav1.LabelSelectorAsSelector(s)
		if err != nil {
			return labels.Nothing()
		}
		return out
	}
	g := group{selector: matching(selector), spaces: func(namespace string) bool { return namespace == owner }}
	if spaces != nil || len(names) > 0 {
		chosen := matching(spaces)
		g.spaces = func(namespace string) bool {
			return slices.Contains(names, namespace) || spaces != nil && chosen.Matches(labels.Set(m.spaces[namespace]))
		}
	}
	return g
}

func (m *Member) term(p *Pod, t *corev1.PodAffinityTerm) group {
	return m.group(p.Namespace, t.LabelSelector, t.Namespaces, t.NamespaceSelector)
}

func (g *group) has(p *Pod) bool {
	return g.spaces(p.Namespace) && g.selector.Matches(labels.Set(p.Template.Pod.Labels))
}

// domains counts the pods of a group by the value that their nodes have of a label.
func (m *Member) domains(g *group, key string, ending bool) map[string]int {
	out := map[string]int{}
	for _, p := range m.pods {
		if p.On == nil || !ending && p.Ending || !g.has(p) {
			continue
		}
		if value, has := p.On.Labels[key]; has {
			out[value]++
		}
	}
	return out
}

// rule says of a node whether it goes with the pods that are where they are.
type rule func(n *Node) bool

// rules are those that a pod must obey: its own, and those of pods that keep it away.
func (m *Member) rules(p *Pod) []rule {
	var out []rule
	if affinity := p.Template.Pod.Spec.Affinity; affinity != nil {
		if near := affinity.PodAffinity; near != nil {
			for i := range near.RequiredDuringSchedulingIgnoredDuringExecution {
				out = append(out, m.near(p, &near.RequiredDuringSchedulingIgnoredDuringExecution[i]))
			}
		}
		if away := affinity.PodAntiAffinity; away != nil {
			for i := range away.RequiredDuringSchedulingIgnoredDuringExecution {
				out = append(out, m.away(p, &away.RequiredDuringSchedulingIgnoredDuringExecution[i]))
			}
		}
	}
	out = append(out, m.keptAway(p))
	for i := range p.Template.Pod.Spec.TopologySpreadConstraints {
		if c := &p.Template.Pod.Spec.TopologySpreadConstraints[i]; c.WhenUnsatisfiable != corev1.ScheduleAnyway {
			out = append(out, m.spread(p, c))
		}
	}
	return out
}

// near wants a node in a domain with one of some pods; the first of them may go anywhere.
func (m *Member) near(p *Pod, t *corev1.PodAffinityTerm) rule {
	g := m.term(p, t)
	where := m.domains(&g, t.TopologyKey, true)
	first := len(where) == 0 && g.has(p)
	return func(n *Node) bool {
		value, has := n.Labels[t.TopologyKey]
		return has && (first || where[value] > 0)
	}
}

// away wants a node in no domain with one of some pods.
func (m *Member) away(p *Pod, t *corev1.PodAffinityTerm) rule {
	g := m.term(p, t)
	where := m.domains(&g, t.TopologyKey, true)
	return func(n *Node) bool {
		value, has := n.Labels[t.TopologyKey]
		return !has || where[value] == 0
	}
}

// keptAway is what pods that keep others away say of a pod.
func (m *Member) keptAway(p *Pod) rule {
	type domain struct{ key, value string }
	closed := map[domain]bool{}
	for _, k := range m.keepers {
		for i := range k.Template.Pod.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
			t := &k.Template.Pod.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[i]
			g := m.term(k, t)
			if value, has := k.On.Labels[t.TopologyKey]; has && g.has(p) {
				closed[domain{t.TopologyKey, value}] = true
			}
		}
	}
	return func(n *Node) bool {
		for d := range closed {
			if value, has := n.Labels[d.key]; has && value == d.value {
				return false
			}
		}
		return true
	}
}

// spread wants no domain to have many more of some pods than the one with the fewest.
func (m *Member) spread(p *Pod, c *corev1.TopologySpreadConstraint) rule {
	selector := c.LabelSelector.DeepCopy()
	for _, key := range c.MatchLabelKeys {
		if value, has := p.Template.Pod.Labels[key]; has && selector != nil {
			selector.MatchExpressions = append(selector.MatchExpressions, metav1.LabelSelectorRequirement{Key: key, Operator: metav1.LabelSelectorOpIn, Values: []string{value}})
		}
	}
	g := m.group(p.Namespace, selector, nil, nil)
	counts := map[string]int{}
	for _, n := range m.nodes {
		if value, has := n.Labels[c.TopologyKey]; has && eligible(n, p, c) {
			counts[value] += 0
		}
	}
	for value, n := range m.domains(&g, c.TopologyKey, false) {
		if _, counted := counts[value]; counted {
			counts[value] = n
		}
	}
	least := 0
	if c.MinDomains == nil || len(counts) >= int(*c.MinDomains) {
		least = slices.Min(append(slices.Collect(maps.Values(counts)), int(^uint(0)>>1)))
	}
	self := 0
	if g.has(p) {
		self = 1
	}
	return func(n *Node) bool {
		value, has := n.Labels[c.TopologyKey]
		return has && counts[value]+self-least <= int(c.MaxSkew)
	}
}

// eligible reports whether a node counts among the domains of a pod.
func eligible(n *Node, p *Pod, c *corev1.TopologySpreadConstraint) bool {
	spec := &p.Template.Pod.Spec
	if (c.NodeAffinityPolicy == nil || *c.NodeAffinityPolicy == corev1.NodeInclusionPolicyHonor) && !podspec.Selects(spec, n.Name, n.Labels) {
		return false
	}
	return c.NodeTaintsPolicy == nil || *c.NodeTaintsPolicy == corev1.NodeInclusionPolicyIgnore || podspec.Untolerated(spec.Tolerations, n.Taints) == nil
}
