package explain

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/disruption"
	"flotilla/core/disruption/disruptiontest"
	"flotilla/core/simulate/simulatetest"
)

// The node that stays says so, and names the pod; what would make it go was found by deciding again.
func TestPendingPodIsNamed(t *testing.T) {
	f := simulatetest.Member{
		Nodes:   []*api.NodeState{simulatetest.Node("n1", "d2", "z-a", "a"), simulatetest.Node("n2", "d2", "z-a", "a")},
		Pools:   []*api.NodePool{simulatetest.Pool("a")},
		Pending: []api.PodState{simulatetest.Pod("p", 1000)},
	}
	forecast := Foresee(f.State(), 0)
	require.Contains(t, forecast.String(), "delete n1: Empty (empty)")
	require.Contains(t, forecast.String(), "n2: PendingPodNeedsIt: pod default/p waits for a node, and finds room nowhere else\n")
	e, found := Explain(f.State(), "n2")
	require.True(t, found)
	require.Equal(t, disruption.CodePendingPodNeedsIt, e.Code())
	require.Equal(t, "default/p", e.Refusals[0].About)
	require.Equal(t, []string{"kubectl delete pod -n default p, which waits for a node, or make room for it on another node"}, e.Flip)

	// What was chosen before the pod came is cut when it is checked again, or given up.
	chosen := disruption.Command{Method: disruption.MethodEmpty, Reason: api.ReasonEmpty, Nodes: []string{"n1", "n2"}}
	valid, _, ok := disruption.Validate(chosen, f.State())
	require.True(t, ok)
	require.Equal(t, []string{"n1"}, valid.Nodes)
	f.Nodes = f.Nodes[1:]
	_, why, ok := disruption.Validate(chosen, f.State())
	require.False(t, ok)
	require.Equal(t, "pod default/p waits for a node, and finds room nowhere else", why)

	// A multi-node command that is cut says so of the node that it is cut before.
	three := simulatetest.Member{Pools: []*api.NodePool{simulatetest.Pool("a", simulatetest.Limited("nodes", "0"))}, Pending: []api.PodState{simulatetest.Pod("p", 3000)}}
	for i := range 3 {
		three.Nodes = append(three.Nodes, simulatetest.Node(fmt.Sprintf("n%d", i+1), "d4", "z-a", "a", simulatetest.Pod(fmt.Sprintf("q%d", i), 100)))
	}
	three.Nodes = append(three.Nodes, simulatetest.Node("x", "d2", "z-a", "", simulatetest.Pod("r", 100)))
	require.Contains(t, disruptiontest.Codes(disruption.Decide(three.State()), "n3"), disruption.CodePendingPodNeedsIt)
}
