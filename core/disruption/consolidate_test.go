package disruption

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"flotilla/core/api"
)

// A label that a node lacks satisfies only what can do without it.
func TestSelectors(t *testing.T) {
	term := func(op corev1.NodeSelectorOperator, values ...string) func(*api.PodState) {
		return func(p *api.PodState) {
			p.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "tier", Operator: op, Values: values}}}},
			}}}
		}
	}
	to := func(tier string, change func(*api.PodState)) fixture {
		x := aNode("x", "d4", "z-a", "")
		if tier != "" {
			x.Labels["tier"] = tier
		}
		return fixture{nodes: []*api.NodeState{aNode("n1", "d2", "z-a", "a", aPod("p", 1000, change)), x}, pools: []*api.NodePool{cheap()}}
	}
	moves := "delete [n1] by single p>x"
	check(t, []row{
		{"In, lacking", to("", term(corev1.NodeSelectorOpIn, "web")), "none"},
		{"In", to("web", term(corev1.NodeSelectorOpIn, "web")), moves},
		{"NotIn, lacking", to("", term(corev1.NodeSelectorOpNotIn, "web")), moves},
		{"NotIn", to("web", term(corev1.NodeSelectorOpNotIn, "web")), "none"},
		{"Exists, lacking", to("", term(corev1.NodeSelectorOpExists)), "none"},
		{"DoesNotExist, lacking", to("", term(corev1.NodeSelectorOpDoesNotExist)), moves},
		{"DoesNotExist", to("web", term(corev1.NodeSelectorOpDoesNotExist)), "none"},
		{"Gt, lacking", to("", term(corev1.NodeSelectorOpGt, "3")), "none"},
		{"Gt", to("4", term(corev1.NodeSelectorOpGt, "3")), moves},
		{"Lt", to("4", term(corev1.NodeSelectorOpLt, "4")), "none"},
	})
}

// So many values must be left to choose from, when a node is made and after cheaper ones are picked.
func TestMinValues(t *testing.T) {
	least := func(n int32) func(*api.NodePool) {
		return func(p *api.NodePool) {
			p.Spec.Template.Spec.Requirements = append(p.Spec.Template.Spec.Requirements, api.NodeRequirement{Key: corev1.LabelInstanceTypeStable, Operator: "Exists", MinValues: &n})
			p.Spec.Disruption.ConsolidateAfter = api.Never
		}
	}
	drift := func(cpu int64, n int32) fixture {
		return fixture{nodes: []*api.NodeState{drifted(aPod("p", cpu))}, pools: []*api.NodePool{testPool("old", least(n))}}
	}
	open := drift(1000, 7)
	open.pools[0].Spec.Disruption.ConsolidateAfter = "0s"
	check(t, []row{
		{"enough types fit", drift(1000, 11), "replace [n1] by drift with old/f2[] p>new-0"},
		{"too few types are large enough", drift(3000, 9), "none"},
		{"just enough", drift(3000, 8), "replace [n1] by drift with old/f4[] p>new-0"},
		{"more than there are", drift(1000, 12), "none"},
	})
	kept := fixture{nodes: []*api.NodeState{aNode("n1", "d8", "z-a", "old", aPod("p", 1000))}, pools: open.pools}
	d := Decide(kept.state())
	require.Equal(t, "replace [n1] by single with old/f2[] p>new-0", summary(d))
	require.GreaterOrEqual(t, len(d.Commands[0].Replacements[0].InstanceTypes), 7)
	least(8)(open.pools[0])
	open.pools[0].Spec.Disruption.ConsolidateAfter = "0s"
	d = Decide(kept.state())
	require.Empty(t, d.Commands)
	require.Contains(t, codes(d, "n1"), CodeMinValues)
}

// Under Balanced a move must save at least half as large a share of its pool's price as it disturbs.
func TestBalanced(t *testing.T) {
	balanced := func(p *api.NodePool) { p.Spec.Disruption.ConsolidationPolicy = api.Balanced }
	member := func(pool *api.NodePool, pods int) fixture {
		n1 := aNode("n1", "d2", "z-a", "a")
		for i := range pods {
			n1.Pods = append(n1.Pods, aPod(string(rune('a'+i)), 50))
		}
		big := aNode("n2", "d16", "z-a", "a", aPod("z", 4000))
		big.Annotations = map[string]string{api.AnnotationDoNotDisrupt: "true"}
		return fixture{nodes: []*api.NodeState{n1, big}, pools: []*api.NodePool{pool}}
	}
	few, many, plain := member(testPool("a", balanced), 1), member(testPool("a", balanced), 15), member(testPool("a"), 15)
	require.Equal(t, []Code{CodeScore}, lastCodes(Decide(few.state()), "n1"), "an eighth of the price for half of the disruption")
	require.Equal(t, []Code{CodeScore}, lastCodes(Decide(many.state()), "n1"))
	require.Len(t, Decide(plain.state()).Commands, 1)
	require.InDelta(t, 0.5, score(1, 2, poolWeight{price: 10, cost: 10}), 1e-12)
	require.Zero(t, score(-1, 2, poolWeight{price: 10, cost: 10}))
	require.Zero(t, score(1, 2, poolWeight{}))
}

func lastCodes(d Decision, node string) []Code {
	all := codes(d, node)
	return all[max(0, len(all)-1):]
}

// Limits count new nodes alone, and give back what the nodes that go had.
func TestLimits(t *testing.T) {
	off := func(p *api.NodePool) { p.Spec.Disruption.ConsolidateAfter = api.Never }
	member := func(limit func(*api.NodePool)) fixture {
		return fixture{nodes: []*api.NodeState{drifted(aPod("p", 1500)), aNode("n2", "d2", "z-a", "old", aPod("q", 1500))}, pools: []*api.NodePool{testPool("old", off, limit)}}
	}
	check(t, []row{
		{"room for one more once it is gone", member(limited("cpu", "4")), "replace [n1] by drift with old/f2[] p>new-0"},
		{"no room", member(limited("cpu", "3")), "none"},
		{"memory counts", member(limited("memory", "11Gi")), "none"},
		{"nodes count", member(limited("nodes", "2")), "replace [n1] by drift with old/f2[] p>new-0"},
		{"one node too many", member(limited("nodes", "1")), "none"},
		{"a resource that nothing has", member(limited("nvidia.com/gpu", "0")), "replace [n1] by drift with old/f2[] p>new-0"},
	})
}
