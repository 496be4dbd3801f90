package memory

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"flotilla/agent/target/memory/podspec"
)

// around is what the scheduler sees of pods beside the one that it places.
type around struct {
	m *Member
	// keepers are the pods with a node that keep others away.
	keepers []*pod
	spaces  map[string]map[string]string // labels of namespaces
}

func (m *Member) around() *around {
	a := &around{m: m, spaces: map[string]map[string]string{}}
	for id, s := range m.objects {
		if id.Group == "" && id.Kind == "Namespace" {
			a.spaces[id.Name] = spaceLabels(s)
		}
	}
	for _, p := range m.pods {
		a.placed(p)
	}
	return a
}

// placed takes notice of a pod that has a node.
func (a *around) placed(p *pod) {
	if p.on != nil && p.made.Keeps {
		a.keepers = append(a.keepers, p)
	}
}

// group are the pods that a term of an affinity is about.
type group struct {
	selector labels.Selector
	spaces   func(namespace string) bool
}

func (a *around) group(owner string, selector *metav1.LabelSelector, names []string, spaces *metav1.LabelSelector) group {
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
			return slices.Contains(names, namespace) || spaces != nil && chosen.Matches(labels.Set(a.spaces[namespace]))
		}
	}
	return g
}

func (a *around) term(p *pod, t *corev1.PodAffinityTerm) group {
	return a.group(p.of.Object.GetNamespace(), t.LabelSelector, t.Namespaces, t.NamespaceSelector)
}

func (g *group) has(p *pod) bool {
	return g.spaces(p.of.Object.GetNamespace()) && g.selector.Matches(labels.Set(p.made.Pod.Labels))
}

// domains counts the pods of a group by the value that their nodes have of a label.
func (a *around) domains(g *group, key string, ending bool) map[string]int {
	out := map[string]int{}
	for _, p := range a.m.pods {
		if p.on == nil || !ending && !p.Ending.IsZero() || !g.has(p) {
			continue
		}
		if value, has := p.on.Labels[key]; has {
			out[value]++
		}
	}
	return out
}

// rule says of a node whether it goes with the pods that are where they are.
type rule func(n *node) bool

// rules are those that a pod must obey: its own, and those of pods that keep it away.
func (a *around) rules(p *pod) []rule {
	var out []rule
	if affinity := p.made.Pod.Spec.Affinity; affinity != nil {
		if near := affinity.PodAffinity; near != nil {
			for i := range near.RequiredDuringSchedulingIgnoredDuringExecution {
				out = append(out, a.near(p, &near.RequiredDuringSchedulingIgnoredDuringExecution[i]))
			}
		}
		if away := affinity.PodAntiAffinity; away != nil {
			for i := range away.RequiredDuringSchedulingIgnoredDuringExecution {
				out = append(out, a.away(p, &away.RequiredDuringSchedulingIgnoredDuringExecution[i]))
			}
		}
	}
	out = append(out, a.keptAway(p))
	for i := range p.made.Pod.Spec.TopologySpreadConstraints {
		if c := &p.made.Pod.Spec.TopologySpreadConstraints[i]; c.WhenUnsatisfiable != corev1.ScheduleAnyway {
			out = append(out, a.spread(p, c))
		}
	}
	return out
}

// near wants a node in a domain with one of some pods; the first of them may go anywhere.
func (a *around) near(p *pod, t *corev1.PodAffinityTerm) rule {
	g := a.term(p, t)
	where := a.domains(&g, t.TopologyKey, true)
	first := len(where) == 0 && g.has(p)
	return func(n *node) bool {
		value, has := n.Labels[t.TopologyKey]
		return has && (first || where[value] > 0)
	}
}

// away wants a node in no domain with one of some pods.
func (a *around) away(p *pod, t *corev1.PodAffinityTerm) rule {
	g := a.term(p, t)
	where := a.domains(&g, t.TopologyKey, true)
	return func(n *node) bool {
		value, has := n.Labels[t.TopologyKey]
		return !has || where[value] == 0
	}
}

// keptAway is what pods that keep others away say of a pod.
func (a *around) keptAway(p *pod) rule {
	type domain struct{ key, value string }
	closed := map[domain]bool{}
	for _, k := range a.keepers {
		for i := range k.made.Pod.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
			t := &k.made.Pod.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[i]
			g := a.term(k, t)
			if value, has := k.on.Labels[t.TopologyKey]; has && !k.gone && g.has(p) {
				closed[domain{t.TopologyKey, value}] = true
			}
		}
	}
	return func(n *node) bool {
		for d := range closed {
			if value, has := n.Labels[d.key]; has && value == d.value {
				return false
			}
		}
		return true
	}
}

// spread wants no domain to have many more of some pods than the one with the fewest.
func (a *around) spread(p *pod, c *corev1.TopologySpreadConstraint) rule {
	selector := c.LabelSelector.DeepCopy()
	for _, key := range c.MatchLabelKeys {
		if value, has := p.made.Pod.Labels[key]; has && selector != nil {
			selector.MatchExpressions = append(selector.MatchExpressions, metav1.LabelSelectorRequirement{Key: key, Operator: metav1.LabelSelectorOpIn, Values: []string{value}})
		}
	}
	g := a.group(p.of.Object.GetNamespace(), selector, nil, nil)
	counts := map[string]int{}
	for _, n := range a.m.nodes {
		if value, has := n.Labels[c.TopologyKey]; has && eligible(n, p, c) {
			counts[value] += 0
		}
	}
	for value, n := range a.domains(&g, c.TopologyKey, false) {
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
	return func(n *node) bool {
		value, has := n.Labels[c.TopologyKey]
		return has && counts[value]+self-least <= int(c.MaxSkew)
	}
}

// eligible reports whether a node counts among the domains of a pod.
func eligible(n *node, p *pod, c *corev1.TopologySpreadConstraint) bool {
	spec := &p.made.Pod.Spec
	if (c.NodeAffinityPolicy == nil || *c.NodeAffinityPolicy == corev1.NodeInclusionPolicyHonor) && !podspec.Selects(spec, n.Name, n.Labels) {
		return false
	}
	return c.NodeTaintsPolicy == nil || *c.NodeTaintsPolicy == corev1.NodeInclusionPolicyIgnore || podspec.Untolerated(spec.Tolerations, n.taints) == nil
}
