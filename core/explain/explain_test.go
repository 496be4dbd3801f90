package explain

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/disruption"
	"flotilla/core/disruption/disruptiontest"
	"flotilla/core/simulate"
	"flotilla/core/simulate/simulatetest"
)

// Every reason why a node stays has its code, and says what would change it.
func TestExplainRefusals(t *testing.T) {
	protect := func(p *api.PodState) { p.Annotations = map[string]string{api.AnnotationDoNotDisrupt: "true"} }
	pool := func(change ...func(*api.NodePool)) *api.NodePool { return simulatetest.Pool("a", change...) }
	node := func(change func(*api.NodeState)) *api.NodeState {
		n := simulatetest.Node("n1", "d2", "z-a", "a", simulatetest.Pod("p", 1900))
		if change != nil {
			change(n)
		}
		return n
	}
	pdb := func(allowed int32, names ...string) []api.PodBudget {
		var out []api.PodBudget
		for _, n := range names {
			out = append(out, api.PodBudget{Namespace: "default", Name: n, Selector: simulatetest.Selecting("p"), Allowed: allowed})
		}
		return out
	}
	for name, row := range map[string]struct {
		fix  simulatetest.Member
		code disruption.Code
		flip string
	}{
		"nobody's":        {simulatetest.Member{Nodes: []*api.NodeState{node(func(n *api.NodeState) { n.Managed = false })}, Pools: []*api.NodePool{pool()}}, disruption.CodeUnmanaged, "nothing does: only nodes"},
		"not initialized": {simulatetest.Member{Nodes: []*api.NodeState{node(func(n *api.NodeState) { n.Initialized = false })}, Pools: []*api.NodePool{pool()}}, disruption.CodeNotInitialized, "time: the node is not up yet"},
		"deleting":        {simulatetest.Member{Nodes: []*api.NodeState{node(func(n *api.NodeState) { n.Deleting = true })}, Pools: []*api.NodePool{pool()}}, disruption.CodeDeleting, "it goes already"},
		"queued":          {simulatetest.Member{Nodes: []*api.NodeState{node(nil)}, Pools: []*api.NodePool{pool()}, Change: func(s *simulate.State) { s.Busy = map[string]bool{"n1": true} }}, disruption.CodeQueued, "it goes already"},
		"undoing":         {simulatetest.Member{Nodes: []*api.NodeState{node(nil)}, Pools: []*api.NodePool{pool()}, Change: func(s *simulate.State) { s.Busy, s.Undoing = map[string]bool{"n1": true}, map[string]string{"n1": "x"} }}, disruption.CodeUndoing, "time: the node stays"},
		"nominated":       {simulatetest.Member{Nodes: []*api.NodeState{node(func(n *api.NodeState) { n.NominatedUntil = metav1.NewTime(simulatetest.Now.Add(time.Second)) })}, Pools: []*api.NodePool{pool()}}, disruption.CodeNominated, "wait until 2026-11-20T12:00:01Z"},
		"protected node":  {simulatetest.Member{Nodes: []*api.NodeState{node(func(n *api.NodeState) { n.Annotations = map[string]string{api.AnnotationDoNotDisrupt: "true"} })}, Pools: []*api.NodePool{pool()}}, disruption.CodeNodeProtected, "kubectl annotate node n1 karpenter.sh/do-not-disrupt-"},
		"protected pool": {simulatetest.Member{Nodes: []*api.NodeState{node(nil)}, Pools: []*api.NodePool{pool(func(p *api.NodePool) {
			p.Spec.Template.Metadata.Annotations = map[string]string{api.AnnotationDoNotDisrupt: "true"}
		})}}, disruption.CodePoolProtected, "spec.template.metadata.annotations of NodePool a"},
		"protected pod":   {simulatetest.Member{Nodes: []*api.NodeState{simulatetest.Node("n1", "d2", "z-a", "a", simulatetest.Pod("p", 100, protect))}, Pools: []*api.NodePool{pool()}}, disruption.CodePodProtected, "kubectl annotate pod -n default p karpenter.sh/do-not-disrupt-"},
		"pool unknown":    {simulatetest.Member{Nodes: []*api.NodeState{node(nil)}}, disruption.CodePoolUnknown, "apply NodePool a"},
		"no pool":         {simulatetest.Member{Nodes: []*api.NodeState{node(func(n *api.NodeState) { delete(n.Labels, api.LabelNodePool) })}, Pools: []*api.NodePool{pool()}}, disruption.CodeNoPool, "label node n1 with karpenter.sh/nodepool"},
		"type unknown":    {simulatetest.Member{Nodes: []*api.NodeState{node(func(n *api.NodeState) { n.Labels["node.kubernetes.io/instance-type"] = "x" })}, Pools: []*api.NodePool{pool()}, Change: func(s *simulate.State) { s.Now = simulatetest.Now.Add(-90 * time.Minute) }}, disruption.CodeTypeUnknown, "InstanceCatalog"},
		"a PDB of 0":      {simulatetest.Member{Nodes: []*api.NodeState{node(nil)}, Pools: []*api.NodePool{pool()}, Pdbs: pdb(0, "x")}, disruption.CodePDB, "let PodDisruptionBudget default/x allow 1 eviction (it allows 0)"},
		"two PDBs":        {simulatetest.Member{Nodes: []*api.NodeState{node(nil)}, Pools: []*api.NodePool{pool()}, Pdbs: pdb(5, "x", "y")}, disruption.CodePDBOverlap, "let only default/x of the PodDisruptionBudgets default/x, default/y cover pod default/p"},
		"PDB exceeded":    {simulatetest.Member{Nodes: []*api.NodeState{simulatetest.Node("n1", "d2", "z-a", "a", simulatetest.Pod("p", 100), simulatetest.Pod("q", 100, simulatetest.Labelled("p")))}, Pools: []*api.NodePool{pool()}, Pdbs: pdb(1, "x")}, disruption.CodePDBExceeded, "let PodDisruptionBudget default/x allow 2 evictions (it allows 1)"},
		"disabled":        {simulatetest.Member{Nodes: []*api.NodeState{node(nil)}, Pools: []*api.NodePool{pool(func(p *api.NodePool) { p.Spec.Disruption.ConsolidateAfter = api.Never })}}, disruption.CodeDisabled, "set spec.disruption.consolidateAfter of NodePool a to 0s (it is Never)"},
		"only when empty": {simulatetest.Member{Nodes: []*api.NodeState{node(nil)}, Pools: []*api.NodePool{pool(func(p *api.NodePool) { p.Spec.Disruption.ConsolidationPolicy = api.WhenEmpty })}}, disruption.CodeNotEmpty, "consolidationPolicy of NodePool a to WhenEmptyOrUnderutilized (it is WhenEmpty)"},
		"not quiet yet":   {simulatetest.Member{Nodes: []*api.NodeState{node(func(n *api.NodeState) { n.LastPodEvent = metav1.NewTime(simulatetest.Now.Add(-time.Minute)) })}, Pools: []*api.NodePool{pool(func(p *api.NodePool) { p.Spec.Disruption.ConsolidateAfter = "5m" })}}, disruption.CodeQuiet, "wait until 2026-11-20T12:04:00Z, if no pod comes, ends or leaves before\nset spec.disruption.consolidateAfter of NodePool a to 1m or less (it is 5m)"},
		"budget":          {simulatetest.Member{Nodes: []*api.NodeState{node(nil)}, Pools: []*api.NodePool{pool(func(p *api.NodePool) { p.Spec.Disruption.Budgets = []api.DisruptionBudget{{Nodes: new("0")}} })}}, disruption.CodeBudget, "raise spec.disruption.budgets of NodePool a to 1 node for Underutilized (it is 0, and 0 are down)"},
		"not cheaper":     {simulatetest.Member{Nodes: []*api.NodeState{simulatetest.Node("n1", "f2", "z-a", "a", simulatetest.Pod("p", 1500))}, Pools: []*api.NodePool{pool()}}, disruption.CodeNotCheaper, "a cheaper instance type that its NodePool allows"},
		"stale":           {simulatetest.Member{Nodes: []*api.NodeState{node(nil)}, Pools: []*api.NodePool{pool()}, Change: func(s *simulate.State) { s.Stale = "no inventory" }}, disruption.CodeStale, "wait until decisions are made again: no inventory"},
	} {
		t.Run(name, func(t *testing.T) {
			e, ok := Explain(row.fix.State(), "n1")
			require.True(t, ok)
			require.Empty(t, e.Disrupt)
			var seen []disruption.Code
			for _, r := range e.Refusals {
				seen = append(seen, r.Code)
			}
			require.Contains(t, seen, row.code)
			require.Contains(t, strings.Join(append(e.Flip, e.NoFlip), "\n"), row.flip)
			require.Equal(t, len(e.Flip) == 0, e.NoFlip != "", "either a flip or what else can be done")
			require.Regexp(t, "^node n1 (stays|goes already)\n", e.String())
		})
	}
	_, ok := Explain((&simulatetest.Member{}).State(), "n1")
	require.False(t, ok)
}

// What would change a verdict does change it, applied.
func TestFlipsAreTrue(t *testing.T) {
	f := simulatetest.Member{Nodes: []*api.NodeState{simulatetest.Node("n1", "d2", "z-a", "a")}, Pools: []*api.NodePool{simulatetest.Pool("a", func(p *api.NodePool) {
		p.Spec.Disruption.ConsolidateAfter = api.Never
		p.Spec.Disruption.Budgets = []api.DisruptionBudget{{Nodes: new("0")}}
	})}}
	f.Nodes[0].Annotations = map[string]string{api.AnnotationDoNotDisrupt: "true"}
	for _, step := range []struct {
		code disruption.Code
		flip func()
	}{
		{disruption.CodeNodeProtected, func() { f.Nodes[0].Annotations = nil }},
		{disruption.CodeDisabled, func() { f.Pools[0].Spec.Disruption.ConsolidateAfter = "0s" }},
		{disruption.CodeBudget, func() { f.Pools[0].Spec.Disruption.Budgets = nil }},
	} {
		require.Contains(t, disruptiontest.Codes(disruption.Decide(f.State()), "n1"), step.code)
		step.flip()
	}
	require.Equal(t, "delete [n1] by empty", disruptiontest.Summary(disruption.Decide(f.State())))
}

// The whole of a forecast: an empty node goes, a half-empty one is replaced, the rest says why not.
func TestForecast(t *testing.T) {
	held := simulatetest.Node("n3", "d2", "z-a", "a", simulatetest.Pod("q", 1900))
	held.Annotations = map[string]string{api.AnnotationDoNotDisrupt: "true"}
	pools := []*api.NodePool{simulatetest.Pool("a", simulatetest.Requiring("node.kubernetes.io/instance-type", "In", "f2", "e2"), func(p *api.NodePool) { p.Spec.Disruption.ConsolidateAfter = "0s" })}
	f := simulatetest.Member{Nodes: []*api.NodeState{simulatetest.Node("n1", "d4", "z-a", "a", simulatetest.Pod("p", 1000)), simulatetest.Node("n2", "d2", "z-a", "a"), held}, Pools: pools}
	for _, n := range f.Nodes {
		n.Created = metav1.NewTime(simulatetest.Now.Add(-30 * time.Minute))
	}
	pools[0].Spec.Template.Spec.Requirements = pools[0].Spec.Template.Spec.Requirements[:1]
	forecast := Foresee(f.State(), 0)
	require.Len(t, forecast.Commands, 2)
	text := forecast.String()
	require.Contains(t, text, "delete n2: Empty (empty), saves 0.0920 an hour\n")
	require.Contains(t, text, "  default/p: n1 -> new-0\n")
	require.Contains(t, text, "  a (any reason): 3 -> 1\n")
	require.Contains(t, text, "nodes that stay:\n  n3: DoNotDisruptNode: the node has the annotation karpenter.sh/do-not-disrupt\n")
	require.InDelta(t, forecast.Commands[0].Savings.Amount+forecast.Commands[1].Savings.Amount, forecast.Savings.Amount, 1e-9)
	require.Equal(t, "nothing is decided: late\n", Foresee((&simulatetest.Member{Change: func(s *simulate.State) { s.Stale = "late" }}).State(), 0).String())
}
