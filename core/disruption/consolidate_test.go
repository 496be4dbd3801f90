package disruption

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"flotilla/core/api"
	"flotilla/core/simulate/simulatetest"
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
	to := func(tier string, change func(*api.PodState)) simulatetest.Member {
		x := simulatetest.Node("x", "d4", "z-a", "")
		if tier != "" {
			x.Labels["tier"] = tier
		}
		return simulatetest.Member{Nodes: []*api.NodeState{simulatetest.Node("n1", "d2", "z-a", "a", simulatetest.Pod("p", 1000, change)), x}, Pools: []*api.NodePool{simulatetest.Cheap()}}
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
	drift := func(cpu int64, n int32) simulatetest.Member {
		return simulatetest.Member{Nodes: []*api.NodeState{drifted(simulatetest.Pod("p", cpu))}, Pools: []*api.NodePool{simulatetest.Pool("old", least(n))}}
	}
	open := drift(1000, 7)
	open.Pools[0].Spec.Disruption.ConsolidateAfter = "0s"
	check(t, []row{
		{"enough types fit", drift(1000, 11), "replace [n1] by drift with old/f2[] p>new-0"},
		{"too few types are large enough", drift(3000, 9), "none"},
		{"just enough", drift(3000, 8), "replace [n1] by drift with old/f4[] p>new-0"},
		{"more than there are", drift(1000, 12), "none"},
	})
	kept := simulatetest.Member{Nodes: []*api.NodeState{simulatetest.Node("n1", "d8", "z-a", "old", simulatetest.Pod("p", 1000))}, Pools: open.Pools}
	d := Decide(kept.State())
	require.Equal(t, "replace [n1] by single with old/f2[] p>new-0", summary(d))
	require.GreaterOrEqual(t, len(d.Commands[0].Replacements[0].InstanceTypes), 7)
	least(8)(open.Pools[0])
	open.Pools[0].Spec.Disruption.ConsolidateAfter = "0s"
	d = Decide(kept.State())
	require.Empty(t, d.Commands)
	require.Contains(t, codes(d, "n1"), CodeMinValues)
}

// Under Balanced a move must save at least half as large a share of its pool's price as it disturbs.
func TestBalanced(t *testing.T) {
	balanced := func(p *api.NodePool) { p.Spec.Disruption.ConsolidationPolicy = api.Balanced }
	member := func(pool *api.NodePool, pods int) simulatetest.Member {
		n1 := simulatetest.Node("n1", "d2", "z-a", "a")
		for i := range pods {
			n1.Pods = append(n1.Pods, simulatetest.Pod(string(rune('a'+i)), 50))
		}
		big := simulatetest.Node("n2", "d16", "z-a", "a", simulatetest.Pod("z", 4000))
		big.Annotations = map[string]string{api.AnnotationDoNotDisrupt: "true"}
		return simulatetest.Member{Nodes: []*api.NodeState{n1, big}, Pools: []*api.NodePool{pool}}
	}
	few, many, plain := member(simulatetest.Pool("a", balanced), 1), member(simulatetest.Pool("a", balanced), 15), member(simulatetest.Pool("a"), 15)
	require.Equal(t, []Code{CodeScore}, lastCodes(Decide(few.State()), "n1"), "an eighth of the price for half of the disruption")
	require.Equal(t, []Code{CodeScore}, lastCodes(Decide(many.State()), "n1"))
	require.Len(t, Decide(plain.State()).Commands, 1)
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
	member := func(limit func(*api.NodePool)) simulatetest.Member {
		return simulatetest.Member{Nodes: []*api.NodeState{drifted(simulatetest.Pod("p", 1500)), simulatetest.Node("n2", "d2", "z-a", "old", simulatetest.Pod("q", 1500))}, Pools: []*api.NodePool{simulatetest.Pool("old", off, limit)}}
	}
	check(t, []row{
		{"room for one more once it is gone", member(simulatetest.Limited("cpu", "4")), "replace [n1] by drift with old/f2[] p>new-0"},
		{"no room", member(simulatetest.Limited("cpu", "3")), "none"},
		{"memory counts", member(simulatetest.Limited("memory", "11Gi")), "none"},
		{"nodes count", member(simulatetest.Limited("nodes", "2")), "replace [n1] by drift with old/f2[] p>new-0"},
		{"one node too many", member(simulatetest.Limited("nodes", "1")), "none"},
		{"a resource that nothing has", member(simulatetest.Limited("nvidia.com/gpu", "0")), "replace [n1] by drift with old/f2[] p>new-0"},
	})
}
