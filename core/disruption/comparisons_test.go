package disruption

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/simulate"
	"flotilla/core/simulate/simulatetest"
)

// farBelow is a fifth of the work that one decision may take.
const farBelow = 3_000_000_000

// waitingFor adds pods that wait for a node which no pool makes, each asking for something else.
func waitingFor(s *simulate.State, pods int, label string) *simulate.State {
	for i := range pods {
		p := simulatetest.Pod(fmt.Sprint("waits", i), int64(10+i), func(p *api.PodState) { p.NodeSelector = map[string]string{label: "x"} })
		s.Cluster.Pending = append(s.Cluster.Pending, s.Cluster.NewPod(&p))
	}
	return s
}

// gpusWanted adds pods that wait for a GPU, of which there is none.
func gpusWanted(s *simulate.State, pods int) *simulate.State {
	for i := range pods {
		p := simulatetest.Pod(fmt.Sprint("gpu", i), 100, func(p *api.PodState) { p.Requests["nvidia.com/gpu"] = 1 })
		s.Cluster.Pending = append(s.Cluster.Pending, s.Cluster.NewPod(&p))
	}
	return s
}

// budgeted adds PodDisruptionBudgets in the namespace of all pods, which cover none.
func budgeted(s *simulate.State, budgets int) *simulate.State {
	one := simulatetest.Pod("any", 0)
	inventory := &api.NodeInventory{}
	for i := range budgets {
		inventory.Budgets = append(inventory.Budgets, api.PodBudget{
			Name: fmt.Sprint("b", i), Namespace: one.Namespace, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": fmt.Sprint("of", i)}},
		})
	}
	s.Cluster.SetInventory(inventory)
	return s
}

// A member that states so much that a decision about it would take minutes is left alone, and says why. What it takes is
// counted, not measured: the largest members that decisions are measured on stay far below (H37).
func TestAMemberThatTakesTooManyComparisons(t *testing.T) {
	mixed := simulatetest.Mixed(2000, 500, true, 1).State()
	for name, s := range map[string]*simulate.State{
		"slack":              benchState(2000, false),
		"packed":             benchState(2000, true),
		"packed, mixed":      mixed,
		"a hundred wait":     waitingFor(benchState(2000, true), 100, "zone-of-nobody"),
		"110 pods a node":    crowdedState(2000, 110),
		"200 wait for a GPU": gpusWanted(simulatetest.Mixed(2000, 500, true, 1).State(), 200),
		"300 budgets":        budgeted(simulatetest.Mixed(2000, 500, true, 1).State(), 300),
	} {
		d := begin(s)
		d.choose()
		require.Empty(t, d.undecided().Code, name)
		require.Less(t, d.x.Spent(), int64(farBelow), name)
	}
	s := waitingFor(mixed, 5000, "zone-of-nobody")
	d := begin(s)
	before := d.x.Spent()
	d.x.Simulate(d.x.Nodes[:1], true)
	one := d.x.Spent() - before
	require.Greater(t, one*int64(s.Cluster.Len()), int64(farBelow*5), "what a pass over all nodes takes is beyond the bound")
	d.x.Spend(farBelow*5 - 3*int(one))
	out := d.decide()
	const why = "the decision about the member compares more than is followed: 2000 nodes, 45041 pods on them and 5000 pods without one"
	require.Equal(t, why, out.Stale)
	require.Less(t, out.Evaluated, 10, "it ends where the bound is")
	require.False(t, out.Ended, "it is of use: it says why")
	require.Empty(t, out.Commands)
	require.Len(t, out.Verdicts, s.Cluster.Len())
	require.Equal(t, []Refusal{{Code: CodeTangled, Message: why}}, out.Verdicts[0].Refusals)
}

// crowdedState is a packed member whose nodes have more pods that ask for next to nothing.
func crowdedState(nodes, pods int) *simulate.State {
	s := benchState(nodes, true)
	for i, name := range s.Cluster.Names() {
		state := *s.Cluster.Nodes[name].State
		state.Pods = append([]api.PodState{}, state.Pods...)
		for k := len(state.Pods); k < pods; k++ {
			state.Pods = append(state.Pods, simulatetest.Pod(fmt.Sprint("small", i, "-", k), 0))
		}
		s.Cluster.Set(&state)
	}
	return s
}
