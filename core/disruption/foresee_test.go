package disruption

import (
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
)

// Commands of one forecast share what is left of a fleet-wide budget, though each pool would allow more.
func TestForeseeSpendsFleetBudget(t *testing.T) {
	shared := func(p *api.NodePool) { p.Annotations = map[string]string{api.AnnotationFleetBudget: "all=2"} }
	f := fixture{
		pools: []*api.NodePool{testPool("a", shared), testPool("b", shared), testPool("c")},
		nodes: []*api.NodeState{
			aNode("a1", "d4", "z1", "a"), aNode("a2", "d4", "z1", "a"), aNode("b1", "d4", "z1", "b"), aNode("c1", "d4", "z1", "c"),
		},
		change: func(s *State) { s.FleetAllowed = map[string]int{"all": 2} },
	}
	s := f.state()
	got := Foresee(s)
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
