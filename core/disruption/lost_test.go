package disruption

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
)

// A pod that nothing makes again is lost, not moved: plan, why and JSON say so, and no node waits for it (N24).
func TestPodsWithoutAControllerAreLost(t *testing.T) {
	bare := aPod("bare", 500, func(p *api.PodState) { p.Owner = "" })
	f := fixture{
		nodes: []*api.NodeState{aNode("n1", "d4", "z-a", "a", bare, aPod("p", 500)), aNode("x", "d4", "z-a", "")},
		pools: []*api.NodePool{testPool("a")},
	}
	forecast := ForeseeMember(f.state(), "", []string{"n1"}, 0)
	require.Equal(t, []api.PodMove{{Pod: "default/bare", From: "n1", Lost: true}, {Pod: "default/p", From: "n1", To: "x"}}, forecast.Commands[0].Moves)
	require.Contains(t, forecast.String(), "  default/bare: n1 -> lost: it has no controller, and nothing makes it again\n  default/p: n1 -> x\n")
	require.Equal(t, []string{"pod default/bare is lost with n1: it has no controller, and nothing makes it again"}, forecast.Notes)
	require.Contains(t, forecast.Explanations[0].String(), "default/bare: n1 -> lost")
	raw, err := json.Marshal(forecast.Commands[0].Moves[0])
	require.NoError(t, err)
	require.JSONEq(t, `{"pod":"default/bare","from":"n1","lost":true}`, string(raw))

	f.nodes[0].Annotations = map[string]string{api.AnnotationDoNotDisrupt: "true"}
	kept, _ := Explain(f.state(), "n1")
	require.Equal(t, "its 2 pods fit elsewhere, saving 0.1840 an hour; pod default/bare is lost: it has no controller, and nothing makes it again", kept.Consolidation)
	require.Contains(t, DrainOutlook(f.state(), "n1").Notes, "pod default/bare is lost: it has no controller, and nothing makes it again")

	s := StateOf(StepInput{State: *f.state(), Record: api.DisruptionRecord{Disruptions: []api.Disruption{
		{Phase: api.PhaseDraining, Nodes: []string{"n1"}, Moves: []api.PodMove{{Pod: "default/bare", From: "n1", Lost: true}}},
	}}})
	require.Empty(t, s.Nominated)
	require.Empty(t, s.Promised)
}

// A node that no method has looked at says that another goes first, not what keeps it from emptiness.
func TestNotReachedIsSaid(t *testing.T) {
	f := fixture{
		nodes: []*api.NodeState{aNode("n1", "d2", "z-a", "a"), aNode("n2", "d2", "z-a", "a", aPod("p", 1900))},
		pools: []*api.NodePool{testPool("a")},
	}
	d := Decide(f.state())
	require.Equal(t, "delete [n1] by empty", summary(d))
	require.Equal(t, CodeNotReached, d.Verdicts[1].Code())
	require.Equal(t, string(CodeNotReached), MemberNodes(f.state(), "berlin", &d, nil)[1].Status.Verdict.Code)
	f.nodes[0] = aNode("n1", "d8", "z-a", "a", aPod("q", 1900))
	f.nodes[0].ProviderDrift = "ImageDrifted"
	require.Contains(t, Foresee(f.state(), 0).String(), "nodes that stay:\n  n2: NotReached: another disruption goes first")
}
