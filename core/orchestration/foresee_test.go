package orchestration_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/disruption"
	"flotilla/core/explain"
	"flotilla/core/orchestration"
	"flotilla/core/simulate"
	"flotilla/core/simulate/simulatetest"
)

// Commands of one forecast share what is left of a fleet-wide budget, though each pool would allow more.
func TestForeseeSpendsFleetBudget(t *testing.T) {
	shared := func(p *api.NodePool) { p.Annotations = map[string]string{api.AnnotationFleetBudget: "all=2"} }
	f := simulatetest.Member{
		Pools: []*api.NodePool{simulatetest.Pool("a", shared), simulatetest.Pool("b", shared), simulatetest.Pool("c")},
		Nodes: []*api.NodeState{
			simulatetest.Node("a1", "d4", "z1", "a"), simulatetest.Node("a2", "d4", "z1", "a"), simulatetest.Node("b1", "d4", "z1", "b"), simulatetest.Node("c1", "d4", "z1", "c"),
		},
		Change: func(s *simulate.State) { s.FleetAllowed = map[string]int{"all": 2} },
	}
	s := f.State()
	got := explain.Foresee(s, 0)
	shares, free := 0, 0
	for _, v := range got.Verdicts {
		switch {
		case v.Disrupt == "":
			require.Contains(t, v.Why(), "BudgetSpent")
		case v.Pool == "c":
			free++
		default:
			shares++
		}
	}
	require.Equal(t, []int{2, 1}, []int{shares, free})
	require.Equal(t, map[string]int{"all": 2}, s.FleetAllowed, "a forecast changes nothing")
}

// A named node that was chosen already is explained by the command that waits, not by what keeps it from
// being chosen twice.
func TestForeseeStepExplainsWhatWaits(t *testing.T) {
	f := simulatetest.Member{
		Nodes: []*api.NodeState{simulatetest.Node("n1", "d4", "z1", "a"), simulatetest.Node("n2", "d4", "z1", "a", simulatetest.Pod("p", 100))},
		Pools: []*api.NodePool{simulatetest.Pool("a", func(p *api.NodePool) { p.Spec.Disruption.Budgets = []api.DisruptionBudget{{Nodes: new("1")}} })},
	}
	s := f.State()
	d := disruption.Decide(s)
	require.Equal(t, []string{"n1"}, d.Commands[0].Nodes)
	got := explain.ForeseeStep(orchestration.StepInput{Member: "berlin", State: *s, Wait: time.Minute, Waiting: []orchestration.Waiting{{Command: d.Commands[0], Since: simulatetest.Now}}}, []string{"n2", "n1"}, 0)
	require.Len(t, got.Explanations, 2)
	require.Equal(t, []string{"n2", ""}, []string{got.Explanations[0].Node, got.Explanations[0].Disrupt})
	one := got.Explanations[1]
	require.Equal(t, []string{"n1", api.ReasonEmpty}, []string{one.Node, one.Disrupt})
	require.Equal(t, simulatetest.Now.Add(time.Minute), one.Command.Begins)
	require.Contains(t, one.String(), "begins at 2026-11-20T12:01:00Z if it still holds then")
}
