package disruption

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/simulate"
)

// Commands of one forecast share what is left of a fleet-wide budget, though each pool would allow more.
func TestForeseeSpendsFleetBudget(t *testing.T) {
	shared := func(p *api.NodePool) { p.Annotations = map[string]string{api.AnnotationFleetBudget: "all=2"} }
	f := fixture{
		pools: []*api.NodePool{testPool("a", shared), testPool("b", shared), testPool("c")},
		nodes: []*api.NodeState{
			aNode("a1", "d4", "z1", "a"), aNode("a2", "d4", "z1", "a"), aNode("b1", "d4", "z1", "b"), aNode("c1", "d4", "z1", "c"),
		},
		change: func(s *simulate.State) { s.FleetAllowed = map[string]int{"all": 2} },
	}
	s := f.state()
	got := Foresee(s, 0)
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
	f := fixture{
		nodes: []*api.NodeState{aNode("n1", "d4", "z1", "a"), aNode("n2", "d4", "z1", "a", aPod("p", 100))},
		pools: []*api.NodePool{testPool("a", func(p *api.NodePool) { p.Spec.Disruption.Budgets = []api.DisruptionBudget{{Nodes: new("1")}} })},
	}
	s := f.state()
	d := Decide(s)
	require.Equal(t, []string{"n1"}, d.Commands[0].Nodes)
	got := ForeseeStep(StepInput{Member: "berlin", State: *s, Wait: time.Minute, Waiting: []Waiting{{Command: d.Commands[0], Since: testNow}}}, []string{"n2", "n1"}, 0)
	require.Len(t, got.Explanations, 2)
	require.Equal(t, []string{"n2", ""}, []string{got.Explanations[0].Node, got.Explanations[0].Disrupt})
	one := got.Explanations[1]
	require.Equal(t, []string{"n1", api.ReasonEmpty}, []string{one.Node, one.Disrupt})
	require.Equal(t, testNow.Add(time.Minute), one.Command.Begins)
	require.Contains(t, one.String(), "begins at 2026-11-20T12:01:00Z if it still holds then")
}
