package disruption

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/simulate"
)

// Every reason why a node stays has its code, and says what would change it.
func TestExplainRefusals(t *testing.T) {
	protect := func(p *api.PodState) { p.Annotations = map[string]string{api.AnnotationDoNotDisrupt: "true"} }
	pool := func(change ...func(*api.NodePool)) *api.NodePool { return testPool("a", change...) }
	node := func(change func(*api.NodeState)) *api.NodeState {
		n := aNode("n1", "d2", "z-a", "a", aPod("p", 1900))
		if change != nil {
			change(n)
		}
		return n
	}
	pdb := func(allowed int32, names ...string) []api.PodBudget {
		var out []api.PodBudget
		for _, n := range names {
			out = append(out, api.PodBudget{Namespace: "default", Name: n, Selector: selecting("p"), Allowed: allowed})
		}
		return out
	}
	for name, row := range map[string]struct {
		fix  fixture
		code Code
		flip string
	}{
		"nobody's":        {fixture{nodes: []*api.NodeState{node(func(n *api.NodeState) { n.Managed = false })}, pools: []*api.NodePool{pool()}}, CodeUnmanaged, "nothing does: only nodes"},
		"not initialized": {fixture{nodes: []*api.NodeState{node(func(n *api.NodeState) { n.Initialized = false })}, pools: []*api.NodePool{pool()}}, CodeNotInitialized, "time: the node is not up yet"},
		"deleting":        {fixture{nodes: []*api.NodeState{node(func(n *api.NodeState) { n.Deleting = true })}, pools: []*api.NodePool{pool()}}, CodeDeleting, "it goes already"},
		"queued":          {fixture{nodes: []*api.NodeState{node(nil)}, pools: []*api.NodePool{pool()}, change: func(s *simulate.State) { s.Busy = map[string]bool{"n1": true} }}, CodeQueued, "it goes already"},
		"undoing":         {fixture{nodes: []*api.NodeState{node(nil)}, pools: []*api.NodePool{pool()}, change: func(s *simulate.State) { s.Busy, s.Undoing = map[string]bool{"n1": true}, map[string]string{"n1": "x"} }}, CodeUndoing, "time: the node stays"},
		"nominated":       {fixture{nodes: []*api.NodeState{node(func(n *api.NodeState) { n.NominatedUntil = metav1.NewTime(testNow.Add(time.Second)) })}, pools: []*api.NodePool{pool()}}, CodeNominated, "wait until 2026-11-20T12:00:01Z"},
		"protected node":  {fixture{nodes: []*api.NodeState{node(func(n *api.NodeState) { n.Annotations = map[string]string{api.AnnotationDoNotDisrupt: "true"} })}, pools: []*api.NodePool{pool()}}, CodeNodeProtected, "kubectl annotate node n1 karpenter.sh/do-not-disrupt-"},
		"protected pool": {fixture{nodes: []*api.NodeState{node(nil)}, pools: []*api.NodePool{pool(func(p *api.NodePool) {
			p.Spec.Template.Metadata.Annotations = map[string]string{api.AnnotationDoNotDisrupt: "true"}
		})}}, CodePoolProtected, "spec.template.metadata.annotations of NodePool a"},
		"protected pod":   {fixture{nodes: []*api.NodeState{aNode("n1", "d2", "z-a", "a", aPod("p", 100, protect))}, pools: []*api.NodePool{pool()}}, CodePodProtected, "kubectl annotate pod -n default p karpenter.sh/do-not-disrupt-"},
		"pool unknown":    {fixture{nodes: []*api.NodeState{node(nil)}}, CodePoolUnknown, "apply NodePool a"},
		"no pool":         {fixture{nodes: []*api.NodeState{node(func(n *api.NodeState) { delete(n.Labels, api.LabelNodePool) })}, pools: []*api.NodePool{pool()}}, CodeNoPool, "label node n1 with karpenter.sh/nodepool"},
		"type unknown":    {fixture{nodes: []*api.NodeState{node(func(n *api.NodeState) { n.Labels["node.kubernetes.io/instance-type"] = "x" })}, pools: []*api.NodePool{pool()}, change: func(s *simulate.State) { s.Now = testNow.Add(-90 * time.Minute) }}, CodeTypeUnknown, "InstanceCatalog"},
		"a PDB of 0":      {fixture{nodes: []*api.NodeState{node(nil)}, pools: []*api.NodePool{pool()}, pdbs: pdb(0, "x")}, CodePDB, "let PodDisruptionBudget default/x allow 1 eviction (it allows 0)"},
		"two PDBs":        {fixture{nodes: []*api.NodeState{node(nil)}, pools: []*api.NodePool{pool()}, pdbs: pdb(5, "x", "y")}, CodePDBOverlap, "let only default/x of the PodDisruptionBudgets default/x, default/y cover pod default/p"},
		"PDB exceeded":    {fixture{nodes: []*api.NodeState{aNode("n1", "d2", "z-a", "a", aPod("p", 100), aPod("q", 100, labelled("p")))}, pools: []*api.NodePool{pool()}, pdbs: pdb(1, "x")}, CodePDBExceeded, "let PodDisruptionBudget default/x allow 2 evictions (it allows 1)"},
		"disabled":        {fixture{nodes: []*api.NodeState{node(nil)}, pools: []*api.NodePool{pool(func(p *api.NodePool) { p.Spec.Disruption.ConsolidateAfter = api.Never })}}, CodeDisabled, "set spec.disruption.consolidateAfter of NodePool a to 0s (it is Never)"},
		"only when empty": {fixture{nodes: []*api.NodeState{node(nil)}, pools: []*api.NodePool{pool(func(p *api.NodePool) { p.Spec.Disruption.ConsolidationPolicy = api.WhenEmpty })}}, CodeNotEmpty, "consolidationPolicy of NodePool a to WhenEmptyOrUnderutilized (it is WhenEmpty)"},
		"not quiet yet":   {fixture{nodes: []*api.NodeState{node(func(n *api.NodeState) { n.LastPodEvent = metav1.NewTime(testNow.Add(-time.Minute)) })}, pools: []*api.NodePool{pool(func(p *api.NodePool) { p.Spec.Disruption.ConsolidateAfter = "5m" })}}, CodeQuiet, "wait until 2026-11-20T12:04:00Z, if no pod comes, ends or leaves before\nset spec.disruption.consolidateAfter of NodePool a to 1m or less (it is 5m)"},
		"budget":          {fixture{nodes: []*api.NodeState{node(nil)}, pools: []*api.NodePool{pool(func(p *api.NodePool) { p.Spec.Disruption.Budgets = []api.DisruptionBudget{{Nodes: new("0")}} })}}, CodeBudget, "raise spec.disruption.budgets of NodePool a to 1 node for Underutilized (it is 0, and 0 are down)"},
		"not cheaper":     {fixture{nodes: []*api.NodeState{aNode("n1", "f2", "z-a", "a", aPod("p", 1500))}, pools: []*api.NodePool{pool()}}, CodeNotCheaper, "a cheaper instance type that its NodePool allows"},
		"stale":           {fixture{nodes: []*api.NodeState{node(nil)}, pools: []*api.NodePool{pool()}, change: func(s *simulate.State) { s.Stale = "no inventory" }}, CodeStale, "wait until decisions are made again: no inventory"},
	} {
		t.Run(name, func(t *testing.T) {
			e, ok := Explain(row.fix.state(), "n1")
			require.True(t, ok)
			require.Empty(t, e.Disrupt)
			var seen []Code
			for _, r := range e.Refusals {
				seen = append(seen, r.Code)
			}
			require.Contains(t, seen, row.code)
			require.Contains(t, strings.Join(append(e.Flip, e.NoFlip), "\n"), row.flip)
			require.Equal(t, len(e.Flip) == 0, e.NoFlip != "", "either a flip or what else can be done")
			require.Regexp(t, "^node n1 (stays|goes already)\n", e.String())
		})
	}
	_, ok := Explain((&fixture{}).state(), "n1")
	require.False(t, ok)
}

// What would change a verdict does change it, applied.
func TestFlipsAreTrue(t *testing.T) {
	f := fixture{nodes: []*api.NodeState{aNode("n1", "d2", "z-a", "a")}, pools: []*api.NodePool{testPool("a", func(p *api.NodePool) {
		p.Spec.Disruption.ConsolidateAfter = api.Never
		p.Spec.Disruption.Budgets = []api.DisruptionBudget{{Nodes: new("0")}}
	})}}
	f.nodes[0].Annotations = map[string]string{api.AnnotationDoNotDisrupt: "true"}
	for _, step := range []struct {
		code Code
		flip func()
	}{
		{CodeNodeProtected, func() { f.nodes[0].Annotations = nil }},
		{CodeDisabled, func() { f.pools[0].Spec.Disruption.ConsolidateAfter = "0s" }},
		{CodeBudget, func() { f.pools[0].Spec.Disruption.Budgets = nil }},
	} {
		require.Contains(t, codes(Decide(f.state()), "n1"), step.code)
		step.flip()
	}
	require.Equal(t, "delete [n1] by empty", summary(Decide(f.state())))
}

// The whole of a forecast: an empty node goes, a half-empty one is replaced, the rest says why not.
func TestForecast(t *testing.T) {
	held := aNode("n3", "d2", "z-a", "a", aPod("q", 1900))
	held.Annotations = map[string]string{api.AnnotationDoNotDisrupt: "true"}
	pools := []*api.NodePool{testPool("a", requiring("node.kubernetes.io/instance-type", "In", "f2", "e2"), func(p *api.NodePool) { p.Spec.Disruption.ConsolidateAfter = "0s" })}
	f := fixture{nodes: []*api.NodeState{aNode("n1", "d4", "z-a", "a", aPod("p", 1000)), aNode("n2", "d2", "z-a", "a"), held}, pools: pools}
	for _, n := range f.nodes {
		n.Created = metav1.NewTime(testNow.Add(-30 * time.Minute))
	}
	pools[0].Spec.Template.Spec.Requirements = pools[0].Spec.Template.Spec.Requirements[:1]
	forecast := Foresee(f.state(), 0)
	require.Len(t, forecast.Commands, 2)
	text := forecast.String()
	require.Contains(t, text, "delete n2: Empty (empty), saves 0.0920 an hour\n")
	require.Contains(t, text, "  default/p: n1 -> new-0\n")
	require.Contains(t, text, "  a (any reason): 3 -> 1\n")
	require.Contains(t, text, "nodes that stay:\n  n3: DoNotDisruptNode: the node has the annotation karpenter.sh/do-not-disrupt\n")
	require.InDelta(t, forecast.Commands[0].Savings.Amount+forecast.Commands[1].Savings.Amount, forecast.Savings.Amount, 1e-9)
	require.Equal(t, "nothing is decided: late\n", Foresee((&fixture{change: func(s *simulate.State) { s.Stale = "late" }}).state(), 0).String())
}
