package cli

import (
	"context"
	"testing"
	"time"

	"flotilla/core/api"

	"github.com/stretchr/testify/require"
)

// A wait that a person interrupts says what goes on, not that a time is up.
func TestWaitsThatAreInterruptedSaySo(t *testing.T) {
	over, end := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer end()
	broken, interrupt := context.WithCancel(t.Context())
	interrupt()
	r := ref{resourceKind: kindOfObject(placementVersion, api.KindClusterResourcePlacement), name: "web"}
	wait := &waitOptions{condition: "condition=Available", timeout: time.Minute}
	follow := &statusOptions{watch: true, timeout: time.Minute}
	run := func(state api.UpdateState) *api.UpdateRun {
		out := &api.UpdateRun{Status: &api.UpdateRunStatus{Status: api.UpdateStatus{State: state}}}
		out.Name = "spring"
		return out
	}
	for want, err := range map[string]error{
		"timed out after 1m0s waiting for condition=Available on placement/web: found False":                                              wait.ended(over, r, "False"),
		"interrupted while waiting for condition=Available on placement/web: found False; what is under way goes on without this command": wait.ended(broken, r, "False"),
		"run spring has not ended after 1m0s: it is Running":                                                                              follow.ended(over, run(api.StateRunning)),
		"interrupted: run spring is Running, and goes on without this command":                                                            follow.ended(broken, run(api.StateRunning)),
		"interrupted: run spring is NotStarted":                                                                                           follow.ended(broken, run(api.StateNotStarted)),
		"interrupted: run  is not looked at yet":                                                                                          follow.ended(broken, &api.UpdateRun{}),
	} {
		f := failureOf(err)
		require.Equal(t, ExitTimedOut, f.Code)
		require.Equal(t, want, f.Message)
		require.NotEmpty(t, f.Next)
	}
}

func TestConditionsOfWait(t *testing.T) {
	placement := objectsOf(t, web)[0]
	for _, c := range []struct {
		value string
		met   bool
		found string
	}{
		{"condition=Scheduled", true, "True"},
		{"condition=ClusterResourcePlacementScheduled", true, "True"},
		{"condition=RolloutStarted", false, "False RolloutNotStartedYet, one waits"},
		{"condition=RolloutStarted=false", true, "False"},
		{"condition=Applied", false, "no such condition"},
		{"jsonpath={.status.counts.picked}=4", true, "4"},
		{"jsonpath={.status.counts.picked}=5", false, "4"},
		{"jsonpath=.status.counts.failed", true, "1"},
		{"jsonpath={.status.nothing}", false, "no such field"},
	} {
		want, err := parseFor(c.value)
		require.NoError(t, err, c.value)
		met, found := want(placement)
		require.Equal(t, c.met, met, c.value)
		require.Equal(t, c.found, found, c.value)
	}
	placement.SetGeneration(4)
	met, found := conditionTest("Scheduled", "True")(placement)
	require.False(t, met, "a condition observed on an older generation does not count")
	require.Contains(t, found, "observed on generation 3, the object has 4")
}
