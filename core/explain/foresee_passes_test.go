package explain

import (
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/disruption"
	"flotilla/core/simulate/simulatetest"
)

// A forecast of one pass is the decision that would be made now: its methods, its candidates and the reasons of
// that moment, also those of methods before the one that takes a node.
func TestForeseeOnePass(t *testing.T) {
	// n1 is empty, and goes first; of the others, with a small pod each, one goes after it.
	f := simulatetest.Member{
		Nodes: []*api.NodeState{simulatetest.Node("n1", "d4", "z-a", "a"), simulatetest.Node("n2", "d4", "z-a", "a", simulatetest.Pod("p", 100)), simulatetest.Node("n3", "d4", "z-a", "a", simulatetest.Pod("q", 100))},
		Pools: []*api.NodePool{simulatetest.Pool("a")},
	}
	decided, one, all := disruption.Decide(f.State()), Foresee(f.State(), 1), Foresee(f.State(), 0)

	require.Equal(t, decided.Commands, one.Commands)
	require.Equal(t, []string{disruption.MethodEmpty}, one.Stages)
	require.Equal(t, decided.Eligible, one.Eligible)
	require.Equal(t, decided.Verdicts, one.Verdicts)
	require.Equal(t, "further disruptions are decided when these have begun (--passes 1)", one.Then)
	require.Equal(t, disruption.CodeNotReached, one.Verdicts[1].Code(), "no method but emptiness was asked about it")

	require.Greater(t, len(all.Commands), 1)
	require.Equal(t, all, Foresee(f.State(), 9), "it ends where nothing more would begin")
}

// Pods whose nodes go already take room beside those of a command, and are told apart from them.
func TestForeseeTellsMovesApart(t *testing.T) {
	going := simulatetest.Node("n1", "d4", "z-a", "a", simulatetest.Pod("p", 100))
	going.Deleting = true
	drifted := simulatetest.Node("n2", "d4", "z-a", "a", simulatetest.Pod("q", 100))
	drifted.ProviderDrift = "ImageDrifted"
	f := simulatetest.Member{Nodes: []*api.NodeState{going, drifted, simulatetest.Node("n3", "d4", "z-a", "a", simulatetest.Pod("r", 100))}, Pools: []*api.NodePool{simulatetest.Pool("a")}}
	got := Foresee(f.State(), 1)
	require.Len(t, got.Commands, 1)
	require.Equal(t, []api.PodMove{{Pod: "default/q", From: "n2", To: "n3"}}, got.Commands[0].Moves)
	require.Equal(t, []api.PodMove{{Pod: "default/p", From: "n1", To: "n3"}}, got.Commands[0].Beside)
}
