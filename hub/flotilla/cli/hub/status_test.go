package hub

import (
	"testing"
	"time"

	"flotilla/core/api"
	"flotilla/hub/flotilla/cli/clitest"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestRunsInTheStatusOfTheFleet(t *testing.T) {
	require.Empty(t, runCounts(nil))
	require.Equal(t, "4: 1 Running, 1 Failed, 2 Completed", runCounts(map[string]int{"Completed": 2, "Running": 1, "Failed": 1}))
	require.Empty(t, nodeCounts(&api.FleetStatus{}))
	require.Equal(t, "0 of 1 node pool, none is being disrupted", nodeCounts(&api.FleetStatus{NodePools: 1}))
	require.Equal(t, "24 of 2 node pools, disruptions: 1 Launching, 2 Draining, 1 Aborted",
		nodeCounts(&api.FleetStatus{NodePools: 2, Nodes: 24, Disruptions: map[string]int{"Aborted": 1, "Draining": 2, "Launching": 1}}))
}

func TestHoldsInTheStatusOfTheFleet(t *testing.T) {
	since := metav1.NewTime(clitest.Now.Add(-2 * time.Minute))
	s := &api.FleetStatus{Held: []api.MemberHold{{Member: "berlin", Holder: "run spring", Since: since}, {Member: "oslo", Holder: "eviction of web", Since: since}}, HeldTotal: 2}
	require.Equal(t, "2: berlin by run spring (2m) and oslo by eviction of web (2m)", holds(s, clitest.Now))
	for range 7 {
		s.Held = append(s.Held, api.MemberHold{Member: "paris", Holder: "rollout of web", Since: since})
	}
	s.HeldTotal = 120
	require.Regexp(t, `^120: berlin by run spring \(2m\), (.*, ){3}paris by rollout of web \(2m\) and 115 others$`, holds(s, clitest.Now))
}
