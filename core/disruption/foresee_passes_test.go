package disruption

import (
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
)

// A forecast of one pass is the decision that would be made now: its methods, its candidates and the reasons of
// that moment, also those of methods before the one that takes a node.
func TestForeseeOnePass(t *testing.T) {
	// n1 is empty, and goes first; of the others, with a small pod each, one goes after it.
	f := fixture{
		nodes: []*api.NodeState{aNode("n1", "d4", "z-a", "a"), aNode("n2", "d4", "z-a", "a", aPod("p", 100)), aNode("n3", "d4", "z-a", "a", aPod("q", 100))},
		pools: []*api.NodePool{testPool("a")},
	}
	decided, one, all := Decide(f.state()), Foresee(f.state(), 1), Foresee(f.state(), 0)

	require.Equal(t, decided.Commands, one.Commands)
	require.Equal(t, []string{MethodEmpty}, one.Stages)
	require.Equal(t, decided.Eligible, one.Eligible)
	require.Equal(t, decided.Verdicts, one.Verdicts)
	require.Equal(t, "further disruptions are decided when these have begun (--passes 1)", one.Then)
	require.Equal(t, CodeNotReached, one.Verdicts[1].Code(), "no method but emptiness was asked about it")

	require.Greater(t, len(all.Commands), 1)
	require.Equal(t, all, Foresee(f.state(), 9), "it ends where nothing more would begin")
}

// Pods whose nodes go already take room beside those of a command, and are told apart from them.
func TestForeseeTellsMovesApart(t *testing.T) {
	going := aNode("n1", "d4", "z-a", "a", aPod("p", 100))
	going.Deleting = true
	drifted := aNode("n2", "d4", "z-a", "a", aPod("q", 100))
	drifted.ProviderDrift = "ImageDrifted"
	f := fixture{nodes: []*api.NodeState{going, drifted, aNode("n3", "d4", "z-a", "a", aPod("r", 100))}, pools: []*api.NodePool{testPool("a")}}
	got := Foresee(f.state(), 1)
	require.Len(t, got.Commands, 1)
	require.Equal(t, []api.PodMove{{Pod: "default/q", From: "n2", To: "n3"}}, got.Commands[0].Moves)
	require.Equal(t, []api.PodMove{{Pod: "default/p", From: "n1", To: "n3"}}, got.Commands[0].Beside)
}
