package disruption

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"flotilla/core/api"
)

// What the guide says of codes that no other test gives a node for.
func TestWhyANodeStays(t *testing.T) {
	static := fixedSize
	in := func(zone string) func(*api.PodState) {
		return func(p *api.PodState) { p.NodeSelector = map[string]string{corev1.LabelTopologyZone: zone} }
	}
	node := func(kind string, pods ...api.PodState) []*api.NodeState {
		return []*api.NodeState{aNode("n1", kind, "z-a", "a", pods...)}
	}
	old := aged(aNode("n2", "f2", "z-a", "a", aPod("q", 1900)), 25)
	old.Annotations = map[string]string{api.AnnotationDoNotDisrupt: "true"}
	for name, row := range map[string]struct {
		fix  fixture
		code Code
	}{
		"its pool has replicas":                    {fixture{nodes: node("d2", aPod("p", 100)), pools: []*api.NodePool{testPool("a", static)}}, CodeStatic},
		"it takes two new nodes":                   {fixture{nodes: node("d16", aPod("p", 100, in("z-a")), aPod("q", 100, in("z-b"))), pools: []*api.NodePool{testPool("a")}}, CodeManyReplacements},
		"a pod would find no node":                 {fixture{nodes: node("d2", aPod("p", 100, in("z-x"))), pools: []*api.NodePool{testPool("a")}}, CodePodsUnplaced},
		"it is what its pool asks for":             {fixture{nodes: node("f2", aPod("p", 1900)), pools: []*api.NodePool{testPool("a")}}, CodeNotDrifted},
		"it is young enough":                       {fixture{nodes: append(node("f2", aPod("p", 1900)), old), pools: []*api.NodePool{testPool("a", func(p *api.NodePool) { p.Spec.Template.Spec.ExpireAfter = "24h" })}}, CodeNotExpired},
		"it is empty, and its pool's budget spent": {fixture{nodes: node("d2"), pools: []*api.NodePool{testPool("a", func(p *api.NodePool) { p.Spec.Disruption.Budgets = []api.DisruptionBudget{{Nodes: new("0")}} })}}, CodeEmpty},
	} {
		t.Run(name, func(t *testing.T) {
			d := Decide(row.fix.state())
			require.Empty(t, d.Commands)
			require.Contains(t, codes(d, "n1"), row.code)
		})
	}
}
