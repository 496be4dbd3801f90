package hub

import (
	"testing"

	"flotilla/core/api"

	"github.com/stretchr/testify/require"
)

func TestRunsInTheStatusOfTheFleet(t *testing.T) {
	require.Empty(t, runCounts(nil))
	require.Equal(t, "4: 1 Running, 1 Failed, 2 Completed", runCounts(map[string]int{"Completed": 2, "Running": 1, "Failed": 1}))
	require.Empty(t, nodeCounts(&api.FleetStatus{}))
	require.Equal(t, "0 of 1 node pool, none is being disrupted", nodeCounts(&api.FleetStatus{NodePools: 1}))
	require.Equal(t, "24 of 2 node pools, disruptions: 1 Launching, 2 Draining, 1 Aborted",
		nodeCounts(&api.FleetStatus{NodePools: 2, Nodes: 24, Disruptions: map[string]int{"Aborted": 1, "Draining": 2, "Launching": 1}}))
}
