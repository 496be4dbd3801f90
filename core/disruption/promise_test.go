package disruption

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/simulate"
	"flotilla/core/simulate/simulatetest"
)

// Pods on their way keep the place that they were promised, and those between two nodes the room that
// there is for them.
func TestPodsOnTheirWayKeepTheirPlace(t *testing.T) {
	// n0 goes already: its pod was promised x, though it fits w too, which comes first by name.
	way := func(promised string) simulatetest.Member {
		w, x := simulatetest.Node("w", "d2", "z-a", "", simulatetest.Pod("other-w", 500)), simulatetest.Node("x", "d2", "z-a", "", simulatetest.Pod("other-x", 500))
		x.Labels["disk"] = "ssd"
		choosy := simulatetest.Pod("q", 1300, func(p *api.PodState) { p.NodeSelector = map[string]string{"disk": "ssd"} })
		return simulatetest.Member{
			Nodes: []*api.NodeState{simulatetest.Node("n0", "d4", "z-a", "a", simulatetest.Pod("p", 1300)), simulatetest.Node("n1", "d4", "z-a", "a", choosy), w, x},
			Pools: []*api.NodePool{simulatetest.Pool("a", simulatetest.Limited("nodes", "0"))},
			Change: func(s *simulate.State) {
				s.Busy = map[string]bool{"n0": true}
				if promised != "" {
					s.Promised = map[string]string{"default/p": promised}
				}
			},
		}
	}
	// A pod that was evicted waits, and there is room for it on x alone, which a larger one would take.
	between := func(unsettled bool) simulatetest.Member {
		return simulatetest.Member{
			Nodes:   []*api.NodeState{simulatetest.Node("n1", "d2", "z-a", "a", simulatetest.Pod("q", 1200)), simulatetest.Node("x", "d2", "z-a", "", simulatetest.Pod("other", 600))},
			Pools:   []*api.NodePool{simulatetest.Pool("a", simulatetest.Limited("nodes", "0"))},
			Pending: []api.PodState{simulatetest.Pod("p", 1000)},
			Change:  func(s *simulate.State) { s.Unsettled = unsettled },
		}
	}
	check(t, []row{
		{"promised to nobody", way(""), "delete [n1] by single p>w q>x"},
		{"promised elsewhere", way("w"), "delete [n1] by single p>w q>x"},
		{"promised the only place", way("x"), "none"},
		{"promised a node that is gone", way("gone"), "delete [n1] by single p>w q>x"},
		{"promised the node that goes next", way("n1"), "delete [n1] by single p>w q>x"},
		{"promised where it is", way("n0"), "delete [n1] by single p>w q>x"},
		{"a pod that waits", between(false), "none"},
		{"a pod between two nodes", between(true), "none"},
	})
}

// Taking a command into account promises its pods their places, and expects them there.
func TestTake(t *testing.T) {
	f := simulatetest.Member{Nodes: []*api.NodeState{simulatetest.Node("n1", "d2", "z-a", "a", simulatetest.Pod("p", 1000)), simulatetest.Node("x", "d4", "z-a", "a", simulatetest.Pod("q", 1000))}, Pools: []*api.NodePool{simulatetest.Cheap()}}
	s := f.State()
	ahead := s.Ahead()
	ahead.Begin([]string{"n1"}, []api.PodMove{
		{Pod: "default/p", From: "n1", To: "x"}, {Pod: "default/r", From: "n0", To: "x"}, {Pod: "default/s", From: "n1", To: "new-0"},
	}, false)
	require.Equal(t, map[string]string{"default/p": "x"}, ahead.Promised)
	require.Equal(t, map[string]time.Time{"x": simulatetest.Now.Add(simulate.NominationHold)}, ahead.Nominated)
	require.Equal(t, map[string]bool{"n1": true}, ahead.Busy)
	require.True(t, ahead.Unsettled)
	require.Empty(t, s.Busy)
	require.False(t, s.Unsettled)
	require.Contains(t, codes(Decide(ahead), "x"), CodeNominated)
}
