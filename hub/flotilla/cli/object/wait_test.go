package object

import (
	"context"
	"testing"
	"time"

	"flotilla/core/api"
	"flotilla/hub/flotilla/cli/clitest"
	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/session"

	"github.com/stretchr/testify/require"
)

// A wait that a person interrupts says what goes on, not that a time is up.
func TestWaitsThatAreInterruptedSaySo(t *testing.T) {
	over, end := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer end()
	broken, interrupt := context.WithCancel(t.Context())
	interrupt()
	r := resource.Named(api.KindClusterResourcePlacement, "web")
	wait := &waitOptions{condition: "condition=Available", timeout: time.Minute}
	for want, err := range map[string]error{
		"timed out after 1m0s waiting for condition=Available on placement/web: found False":                                              wait.ended(over, r, "False"),
		"interrupted while waiting for condition=Available on placement/web: found False; what is under way goes on without this command": wait.ended(broken, r, "False"),
	} {
		f := session.FailureOf(err)
		require.Equal(t, session.ExitTimedOut, f.Code)
		require.Equal(t, want, f.Message)
		require.NotEmpty(t, f.Next)
	}
}

func TestConditionsOfWait(t *testing.T) {
	placement := clitest.ObjectsOf(t, clitest.Web)[0]
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
	met, found := resource.ConditionTest("Scheduled", "True")(placement)
	require.False(t, met, "a condition observed on an older generation does not count")
	require.Contains(t, found, "observed on generation 3, the object has 4")
}
