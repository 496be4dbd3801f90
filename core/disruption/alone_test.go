package disruption

import (
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/simulate"
	"flotilla/core/simulate/simulatetest"
)

// What removing a node alone would do is told of nodes that consolidation looks at: those of a pool, of a known type, that have
// pods and stay.
func TestOfWhichNodesRemovalIsTold(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*simulatetest.Member)
		told   bool
	}{
		"a node with a pod": {func(*simulatetest.Member) {}, true},
		"an empty node":     {func(m *simulatetest.Member) { m.Nodes[0].Pods = nil }, false},
		"a node that goes":  {func(m *simulatetest.Member) { m.Nodes[0].Deleting = true }, false},
		"nobody's node": {func(m *simulatetest.Member) {
			m.Nodes[0] = simulatetest.Node("n1", "d4", "z-a", "", simulatetest.Pod("p", 100))
		}, false},
		"a node of another pool": {func(m *simulatetest.Member) {
			m.Nodes[0] = simulatetest.Node("n1", "d4", "z-a", "gone", simulatetest.Pod("p", 100))
		}, false},
		"a node of a type that is not known": {func(m *simulatetest.Member) {
			m.Nodes[0] = simulatetest.Node("n1", "x9", "z-a", "a", simulatetest.Pod("p", 100))
		}, false},
		"a member that is not heard of": {func(m *simulatetest.Member) { m.Change = func(s *simulate.State) { s.Stale = "no inventory" } }, false},
	} {
		m := simulatetest.Member{
			Nodes: []*api.NodeState{simulatetest.Node("n1", "d4", "z-a", "a", simulatetest.Pod("p", 100)), simulatetest.Node("n2", "d8", "z-a", "a", simulatetest.Pod("q", 100))},
			Pools: []*api.NodePool{simulatetest.Pool("a")},
		}
		c.change(&m)
		require.Equal(t, c.told, NodeAlone(m.State(), "n1").Removal != "", name)
	}
}
