package disruption

import (
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/simulate"
	"flotilla/core/simulate/simulatetest"
)

// A pod that cannot be evicted before its node has to be empty is told with what protects it until then.
func TestWhatProtectsAPodUntilItIsKilled(t *testing.T) {
	budget := func(name, app string, allowed int32) api.PodBudget {
		return api.PodBudget{Namespace: "default", Name: name, Selector: simulatetest.Selecting(app), Allowed: allowed}
	}
	for name, c := range map[string]struct {
		budgets []api.PodBudget
		pods    []api.PodState
		want    map[string]string
	}{
		"nothing":         {nil, []api.PodState{simulatetest.Pod("p", 100)}, map[string]string{}},
		"two budgets":     {[]api.PodBudget{budget("first", "p", 5), budget("second", "p", 5)}, []api.PodState{simulatetest.Pod("p", 100)}, map[string]string{"default/p": "PDBsOverlap: PodDisruptionBudgets default/first and default/second both cover it, which the eviction API refuses"}},
		"a strict budget": {[]api.PodBudget{budget("strict", "p", 0)}, []api.PodState{simulatetest.Pod("p", 100)}, map[string]string{"default/p": "PDBBlocks: PodDisruptionBudget default/strict allows no eviction; once it does, the pod is evicted"}},
		"a tight budget": {
			[]api.PodBudget{budget("tight", "web", 1)},
			[]api.PodState{simulatetest.Pod("a", 100, simulatetest.Labelled("web")), simulatetest.Pod("b", 100, simulatetest.Labelled("web"))},
			map[string]string{"default/b": "PDBExceeded: PodDisruptionBudget default/tight allows 1 eviction, and other pods here go first; once it allows more, the pod is evicted"},
		},
	} {
		n := simulatetest.Node("n1", "d8", "z-a", "a", c.pods...)
		n.TerminationGracePeriod = "1h"
		x := simulate.NewIndex((&simulatetest.Member{Nodes: []*api.NodeState{n}, Pdbs: c.budgets}).State())
		got := map[string]string{}
		for _, k := range doomedOn(x, x.Nodes[0]) {
			got[k.pod.Key] = k.why.String()
		}
		require.Equal(t, c.want, got, name)
	}
}
