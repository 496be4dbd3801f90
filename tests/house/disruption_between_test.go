package house

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/agent/target"
	"flotilla/core/disruption"
)

// A pod that has left one node, and whose successor is not made yet, keeps the room that it was promised on another: it
// is not given to the pods of the node that would go next.
func TestAPodBetweenTwoNodesKeepsItsRoom(t *testing.T) {
	t.Parallel()
	const grace = 4 * time.Second // and so long its successor is not made
	alone := func(n *target.Node) { n.NodePool = "" }
	h := newNodeHouseOf(t, 100*time.Millisecond, grace, machine(t, "n1", "d4"), machine(t, "n3", "d2"), machine(t, "x", "d2", alone))
	h.put("a", 1, "1300m", "n1")
	h.put("c", 1, "1300m", "n3")
	h.put("other", 1, "500m", "x")
	h.pool(whole + "\n  limits: {nodes: \"0\"}")
	h.until("single Underutilized Draining [n1]")
	h.until("single Underutilized Done [n1]")
	h.settled("a", map[string]int{"x": 1})
	h.decided("n3", disruption.CodePodsUnplaced)
	h.has("n3", "x")
	list, err := h.disruptions()
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.Equal(t, map[string]int{"n3": 1}, h.places("c"))
}
