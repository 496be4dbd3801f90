package disruption

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"flotilla/core/api"
	"flotilla/core/simulate/simulatetest"
)

// What the guide says of codes that no other test gives a node for.
func TestWhyANodeStays(t *testing.T) {
	static := simulatetest.FixedSize
	in := func(zone string) func(*api.PodState) {
		return func(p *api.PodState) { p.NodeSelector = map[string]string{corev1.LabelTopologyZone: zone} }
	}
	node := func(kind string, pods ...api.PodState) []*api.NodeState {
		return []*api.NodeState{simulatetest.Node("n1", kind, "z-a", "a", pods...)}
	}
	old := simulatetest.Aged(simulatetest.Node("n2", "f2", "z-a", "a", simulatetest.Pod("q", 1900)), 25)
	old.Annotations = map[string]string{api.AnnotationDoNotDisrupt: "true"}
	for name, row := range map[string]struct {
		fix  simulatetest.Member
		code Code
	}{
		"its pool has replicas":                    {simulatetest.Member{Nodes: node("d2", simulatetest.Pod("p", 100)), Pools: []*api.NodePool{simulatetest.Pool("a", static)}}, CodeStatic},
		"it takes two new nodes":                   {simulatetest.Member{Nodes: node("d16", simulatetest.Pod("p", 100, in("z-a")), simulatetest.Pod("q", 100, in("z-b"))), Pools: []*api.NodePool{simulatetest.Pool("a")}}, CodeManyReplacements},
		"a pod would find no node":                 {simulatetest.Member{Nodes: node("d2", simulatetest.Pod("p", 100, in("z-x"))), Pools: []*api.NodePool{simulatetest.Pool("a")}}, CodePodsUnplaced},
		"it is what its pool asks for":             {simulatetest.Member{Nodes: node("f2", simulatetest.Pod("p", 1900)), Pools: []*api.NodePool{simulatetest.Pool("a")}}, CodeNotDrifted},
		"it is young enough":                       {simulatetest.Member{Nodes: append(node("f2", simulatetest.Pod("p", 1900)), old), Pools: []*api.NodePool{simulatetest.Pool("a", func(p *api.NodePool) { p.Spec.Template.Spec.ExpireAfter = "24h" })}}, CodeNotExpired},
		"it is empty, and its pool's budget spent": {simulatetest.Member{Nodes: node("d2"), Pools: []*api.NodePool{simulatetest.Pool("a", func(p *api.NodePool) { p.Spec.Disruption.Budgets = []api.DisruptionBudget{{Nodes: new("0")}} })}}, CodeEmpty},
	} {
		t.Run(name, func(t *testing.T) {
			d := Decide(row.fix.State())
			require.Empty(t, d.Commands)
			require.Contains(t, codes(d, "n1"), row.code)
		})
	}
}
