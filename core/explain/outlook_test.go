package explain

import (
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/simulate/simulatetest"
)

// Before a node is deleted by hand one hears what the drain will wait for, and for how long.
func TestDrainOutlook(t *testing.T) {
	f := &simulatetest.Member{
		Nodes: []*api.NodeState{
			simulatetest.Node("n1", "d4", "z-a", "a", simulatetest.Pod("p", 500), simulatetest.Pod("q", 500, simulatetest.Labelled("p")), simulatetest.Pod("r", 1500), simulatetest.Pod("d", 100, func(p *api.PodState) { p.Owner = "Node" })),
			simulatetest.Node("n2", "d2", "z-a", "a", simulatetest.Pod("s", 1000)),
		},
		Pdbs: []api.PodBudget{{Namespace: "default", Name: "x", Selector: simulatetest.Selecting("p")}},
	}
	out := DrainOutlook(f.State(), "n1")
	require.Equal(t, 3, out.Pods, "a mirror pod goes with its node")
	require.Len(t, out.Notes, 3)
	require.Equal(t, "PodDisruptionBudget default/x allows no eviction now, and covers 2 pods here", out.Notes[0])
	require.Equal(t, "the drain waits for them without limit: the node has no terminationGracePeriod", out.Notes[1])
	require.Contains(t, out.Notes[2], "not all pods would find a node: ")

	f.Pdbs[0].Allowed, f.Nodes[0].TerminationGracePeriod = 1, "1h"
	f.Nodes[0].Pods[2].Annotations = map[string]string{api.AnnotationDoNotDisrupt: "true"}
	f.Nodes = append(f.Nodes, simulatetest.Node("n3", "d8", "z-a", "a"))
	require.Equal(t, []string{
		"pod default/r is not evicted while it is annotated karpenter.sh/do-not-disrupt",
		"PodDisruptionBudget default/x allows 1 eviction now, and covers 2 pods here",
		"at 2026-11-20T13:00:00Z they are deleted nevertheless (terminationGracePeriod 1h)",
	}, DrainOutlook(f.State(), "n1").Notes)
	require.Equal(t, Outlook{}, DrainOutlook(f.State(), "n3"))
	f.Pdbs[0].Allowed = 2
	require.Len(t, DrainOutlook(f.State(), "n1").Notes, 2, "a budget that lets all go holds nothing up")
}
