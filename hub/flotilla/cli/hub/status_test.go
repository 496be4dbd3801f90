package hub

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"flotilla/core/api"
	"flotilla/hub/flotilla/cli/clitest"
	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/session"

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

// What members say of themselves fills no screen: each has a line, and the line an end.
func TestALineOfTheStatusHasABoundedLength(t *testing.T) {
	const most = 400
	for name, message := range map[string]string{"long": strings.Repeat("no ", 700), "escaped": strings.Repeat("\x1b", 2000), "broken": strings.Repeat("a\n", 1000)} {
		hub := clitest.Answering{api.VerbStatus: func(any) (any, error) {
			return api.FleetStatus{Fleet: "default", Leader: "hub-0", Problems: []api.Problem{
				{Object: "member/mallory", Reason: "NotReady", Message: message}, {Object: "member/oslo", Reason: "Unknown", Message: "gone"},
			}}, nil
		}}
		var out bytes.Buffer
		a := commands{resource.New(session.New(session.Environment{
			Out: &out, Err: &out, Now: func() time.Time { return clitest.Now }, Getenv: func(string) string { return "" },
			Dial: func(context.Context, session.Connection) (session.Hub, error) { return hub, nil },
		}))}
		require.NoError(t, a.status(t.Context(), &statusOptions{}))
		for line := range strings.Lines(out.String()) {
			require.LessOrEqual(t, len(line), most, "%s: %s", name, line)
		}
		require.Contains(t, out.String(), "…\n", name)
		require.Equal(t, 1, strings.Count(out.String(), "member/mallory"), name)
		require.Contains(t, out.String(), "gone\n", name)
		out.Reset()
		require.NoError(t, a.status(t.Context(), &statusOptions{format: "json"}))
		whole, err := json.Marshal(message)
		require.NoError(t, err)
		require.Contains(t, out.String(), string(whole), "a program has it whole")
	}
}
