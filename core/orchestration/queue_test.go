package orchestration_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/disruption"
	"flotilla/core/disruption/disruptiontest"
	"flotilla/core/orchestration"
	"flotilla/core/simulate"
	"flotilla/core/simulate/simulatetest"
)

func replacing() *disruption.Command {
	return &disruption.Command{
		Method: disruption.MethodSingle, Reason: api.ReasonUnderutilized, Nodes: []string{"n1"}, Savings: api.Hourly{Amount: 0.5},
		Replacements: []disruption.Replacement{{Pool: "a", InstanceTypes: []string{"f2", "d2"}}},
	}
}

func TestTimeoutAndBackoff(t *testing.T) {
	require.Equal(t, 10*time.Minute, orchestration.Timeout(1))
	require.Equal(t, 800*time.Second, orchestration.Timeout(10000))
	require.Equal(t, time.Hour, orchestration.Timeout(1000000))
	var waits []time.Duration
	for failures := 1; failures <= 8; failures++ {
		waits = append(waits, orchestration.Backoff(failures))
	}
	require.Equal(t, []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 16 * time.Minute, 32 * time.Minute, time.Hour, time.Hour}, waits)
}

// A replace waits for its replacements, a delete drains at once, and both end when the nodes are gone.
func TestAdvance(t *testing.T) {
	d := orchestration.Begin(replacing(), "d1", simulatetest.Now, 1)
	require.Equal(t, api.PhaseLaunching, d.Phase)
	require.Equal(t, "d1-0", d.Replacements[0].Name)
	require.Equal(t, simulatetest.Now.Add(10*time.Minute), d.Deadline.Time)

	waiting, changed := orchestration.Advance(d, nil, simulatetest.Now)
	require.True(t, changed)
	require.Equal(t, "waiting for 1 of 1 replacements: d1-0 has no node yet; given up at 2026-11-20T12:10:00Z", waiting.Message)
	_, changed = orchestration.Advance(waiting, nil, simulatetest.Now.Add(time.Minute))
	require.False(t, changed, "deciding again changes nothing")
	launched, changed := orchestration.Advance(waiting, &api.DisruptionResult{ID: "d1", Replacements: []api.NodeReplacement{{Name: "d1-0", Node: "x"}}}, simulatetest.Now)
	require.True(t, changed)
	require.Equal(t, "waiting for 1 of 1 replacements: node x is not ready yet; given up at 2026-11-20T12:10:00Z", launched.Message)

	ready := &api.DisruptionResult{ID: "d1", Replacements: []api.NodeReplacement{{Name: "d1-0", Node: "x", Initialized: true}}}
	draining, _ := orchestration.Advance(waiting, ready, simulatetest.Now)
	require.Equal(t, api.PhaseDraining, draining.Phase)
	require.Equal(t, "x", draining.Replacements[0].Node)
	require.False(t, d.Replacements[0].Initialized, "the input is not changed")

	late, _ := orchestration.Advance(draining, &api.DisruptionResult{ID: "d1", Replacements: []api.NodeReplacement{{Name: "d1-0"}}}, simulatetest.Now)
	require.True(t, late.Replacements[0].Initialized, "ready once is ready")

	other, changed := orchestration.Advance(draining, &api.DisruptionResult{ID: "d0", Gone: []string{"n1"}}, simulatetest.Now)
	require.False(t, changed, "the result of another disruption")
	require.Equal(t, api.PhaseDraining, other.Phase)
	done, _ := orchestration.Advance(draining, &api.DisruptionResult{ID: "d1", Gone: []string{"n1"}}, simulatetest.Now)
	require.Equal(t, api.PhaseDone, done.Phase)
	require.Empty(t, orchestration.Busy([]api.Disruption{done}))
	require.Equal(t, map[string]bool{"n1": true}, orchestration.Busy([]api.Disruption{draining}))

	require.Equal(t, api.PhaseDraining, orchestration.Begin(&disruption.Command{Nodes: []string{"n2"}}, "d2", simulatetest.Now, 1).Phase)
}

// A replacement that fails, or is not ready in time, aborts the disruption and backs its nodes off.
func TestAbort(t *testing.T) {
	d := orchestration.Begin(replacing(), "d1", simulatetest.Now, 1)
	failed, _ := orchestration.Advance(d, &api.DisruptionResult{ID: "d1", Replacements: []api.NodeReplacement{{Name: "d1-0", Failed: "no capacity"}}}, simulatetest.Now)
	require.Equal(t, api.PhaseAborted, failed.Phase)
	require.Equal(t, "replacement d1-0 failed: no capacity", failed.Message)

	last, _ := orchestration.Advance(d, nil, simulatetest.Now.Add(10*time.Minute-time.Second))
	require.Equal(t, api.PhaseLaunching, last.Phase)
	late, _ := orchestration.Advance(d, nil, simulatetest.Now.Add(10*time.Minute))
	require.Equal(t, api.PhaseAborted, late.Phase)
	require.Equal(t, "1 of 1 replacements were not ready in time: d1-0 has no node yet", late.Message)
	unheard, _ := orchestration.Advance(d, &api.DisruptionResult{ID: "d1", Replacements: []api.NodeReplacement{{Name: "d1-0", Node: "x", Initialized: true}}}, simulatetest.Now.Add(3*time.Hour))
	require.Equal(t, api.PhaseAborted, unheard.Phase, "no hub led meanwhile: what was decided hours ago may not hold")
	require.Contains(t, unheard.Message, "too late")
	require.False(t, orchestration.Fits(replacing(), []api.Disruption{d}))
	require.True(t, orchestration.Fits(replacing(), []api.Disruption{late}))

	once := orchestration.Fail(nil, &failed, simulatetest.Now)
	require.Equal(t, []api.NodeBackoff{{Node: "n1", Failures: 1, Until: metav1.NewTime(simulatetest.Now.Add(time.Minute)), Why: failed.Message}}, once)
	twice := orchestration.Fail(once, &failed, simulatetest.Now.Add(2*time.Minute))
	require.Equal(t, 2, twice[0].Failures)
	require.Equal(t, simulatetest.Now.Add(4*time.Minute), twice[0].Until.Time)
	otherNode := failed
	otherNode.Nodes = []string{"n0"}
	require.Len(t, orchestration.Fail(twice, &otherNode, simulatetest.Now.Add(3*time.Minute)), 2)
	require.Len(t, orchestration.Fail(twice, &otherNode, simulatetest.Now.Add(time.Hour)), 1, "an old back-off is forgotten")

	f := simulatetest.Member{Nodes: []*api.NodeState{simulatetest.Node("n1", "d4", "z-a", "a")}, Pools: []*api.NodePool{simulatetest.Pool("a")}}
	f.Change = func(s *simulate.State) { s.Backoffs = map[string]time.Time{"n1": simulatetest.Now.Add(time.Minute)} }
	decision := disruption.Decide(f.State())
	require.Empty(t, decision.Commands)
	require.Equal(t, []disruption.Code{disruption.CodeBackoff}, disruptiontest.Codes(decision, "n1"))
	require.Equal(t, simulatetest.Now.Add(time.Minute), decision.Recheck)
}
