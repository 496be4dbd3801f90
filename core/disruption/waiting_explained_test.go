package disruption

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
)

// The node that stays says so, and names the pod; what would make it go was found by deciding again.
func TestPendingPodIsNamed(t *testing.T) {
	f := fixture{
		nodes:   []*api.NodeState{aNode("n1", "d2", "z-a", "a"), aNode("n2", "d2", "z-a", "a")},
		pools:   []*api.NodePool{testPool("a")},
		pending: []api.PodState{aPod("p", 1000)},
	}
	forecast := Foresee(f.state(), 0)
	require.Contains(t, forecast.String(), "delete n1: Empty (empty)")
	require.Contains(t, forecast.String(), "n2: PendingPodNeedsIt: pod default/p waits for a node, and finds room nowhere else\n")
	e, found := Explain(f.state(), "n2")
	require.True(t, found)
	require.Equal(t, CodePendingPodNeedsIt, e.Code())
	require.Equal(t, "default/p", e.Refusals[0].About)
	require.Equal(t, []string{"kubectl delete pod -n default p, which waits for a node, or make room for it on another node"}, e.Flip)

	// What was chosen before the pod came is cut when it is checked again, or given up.
	chosen := Command{Method: MethodEmpty, Reason: api.ReasonEmpty, Nodes: []string{"n1", "n2"}}
	valid, _, ok := Validate(chosen, f.state())
	require.True(t, ok)
	require.Equal(t, []string{"n1"}, valid.Nodes)
	f.nodes = f.nodes[1:]
	_, why, ok := Validate(chosen, f.state())
	require.False(t, ok)
	require.Equal(t, "pod default/p waits for a node, and finds room nowhere else", why)

	// A multi-node command that is cut says so of the node that it is cut before.
	three := fixture{pools: []*api.NodePool{testPool("a", limited("nodes", "0"))}, pending: []api.PodState{aPod("p", 3000)}}
	for i := range 3 {
		three.nodes = append(three.nodes, aNode(fmt.Sprintf("n%d", i+1), "d4", "z-a", "a", aPod(fmt.Sprintf("q%d", i), 100)))
	}
	three.nodes = append(three.nodes, aNode("x", "d2", "z-a", "", aPod("r", 100)))
	require.Contains(t, codes(Decide(three.state()), "n3"), CodePendingPodNeedsIt)
}
