package orchestration_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/disruption"
	"flotilla/core/disruption/disruptiontest"
	"flotilla/core/explain"
	"flotilla/core/orchestration"
	"flotilla/core/simulate/simulatetest"
)

// A pod that nothing makes again is lost, not moved: plan, why and JSON say so, and no node waits for it (N24).
func TestPodsWithoutAControllerAreLost(t *testing.T) {
	bare := simulatetest.Pod("bare", 500, func(p *api.PodState) { p.Owner = "" })
	f := simulatetest.Member{
		Nodes: []*api.NodeState{simulatetest.Node("n1", "d4", "z-a", "a", bare, simulatetest.Pod("p", 500)), simulatetest.Node("x", "d4", "z-a", "")},
		Pools: []*api.NodePool{simulatetest.Pool("a")},
	}
	forecast := explain.ForeseeMember(f.State(), "", []string{"n1"}, 0)
	require.Equal(t, []api.PodMove{{Pod: "default/bare", From: "n1", Lost: true}, {Pod: "default/p", From: "n1", To: "x"}}, forecast.Commands[0].Moves)
	require.Contains(t, forecast.String(), "  default/bare: n1 -> lost: it has no controller, and nothing makes it again\n  default/p: n1 -> x\n")
	require.Equal(t, []string{"pod default/bare is lost with n1: it has no controller, and nothing makes it again"}, forecast.Notes)
	require.Contains(t, forecast.Explanations[0].String(), "default/bare: n1 -> lost")
	raw, err := json.Marshal(forecast.Commands[0].Moves[0])
	require.NoError(t, err)
	require.JSONEq(t, `{"pod":"default/bare","from":"n1","lost":true}`, string(raw))

	f.Nodes[0].Annotations = map[string]string{api.AnnotationDoNotDisrupt: "true"}
	kept, _ := explain.Explain(f.State(), "n1")
	require.Equal(t, "its 2 pods fit elsewhere, saving 0.1840 an hour; pod default/bare is lost: it has no controller, and nothing makes it again", kept.Consolidation)
	require.Contains(t, explain.DrainOutlook(f.State(), "n1").Notes, "pod default/bare is lost: it has no controller, and nothing makes it again")

	s := orchestration.StateOf(orchestration.StepInput{State: *f.State(), Record: api.DisruptionRecord{Disruptions: []api.Disruption{
		{Phase: api.PhaseDraining, Nodes: []string{"n1"}, Moves: []api.PodMove{{Pod: "default/bare", From: "n1", Lost: true}}},
	}}})
	require.Empty(t, s.Nominated)
	require.Empty(t, s.Promised)
}

// A node that no method has looked at says that another goes first, not what keeps it from emptiness.
func TestNotReachedIsSaid(t *testing.T) {
	f := simulatetest.Member{
		Nodes: []*api.NodeState{simulatetest.Node("n1", "d2", "z-a", "a"), simulatetest.Node("n2", "d2", "z-a", "a", simulatetest.Pod("p", 1900))},
		Pools: []*api.NodePool{simulatetest.Pool("a")},
	}
	d := disruption.Decide(f.State())
	require.Equal(t, "delete [n1] by empty", disruptiontest.Summary(d))
	require.Equal(t, disruption.CodeNotReached, d.Verdicts[1].Code())
	require.Equal(t, string(disruption.CodeNotReached), orchestration.MemberNodes(f.State(), "berlin", &d, nil)[1].Status.Verdict.Code)
	f.Nodes[0] = simulatetest.Node("n1", "d8", "z-a", "a", simulatetest.Pod("q", 1900))
	f.Nodes[0].ProviderDrift = "ImageDrifted"
	require.Contains(t, explain.Foresee(f.State(), 0).String(), "nodes that stay:\n  n2: NotReached: another disruption goes first")
}
