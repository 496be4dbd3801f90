package staged_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"flotilla/core/api"
	"flotilla/core/staged"
)

// checked is a world of two stages whose strategy names a check; every member has snapshot 1 but lima, which has nothing.
func checked(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, "oslo tier=canary", "bonn tier=prod", "lima tier=prod", "rome tier=prod")
	w.strategy(by("canary", "canary"), atOnce(by("prod", "prod"), intstr.FromInt32(2)))
	w.view.Strategy.Annotations = map[string]string{api.AnnotationRolloutCheck: "slow"}
	w.view.Release = &api.Release{Step: 1}
	for _, name := range []string{"bonn", "oslo", "rome"} {
		w.view.Release.Entries = append(w.view.Release.Entries, api.ReleaseEntry{Member: name, UID: "u1", Snapshot: 1, Work: "work1", Generation: 1})
	}
	w.snapshot("work2")
	w.create()
	w.wants(api.RunRun)
	w.after(0)
	return w
}

// verdict is what the checker says of snapshot 2.
func (w *world) verdict(phase string, soaked bool) {
	w.view.Checks = &api.CheckRecord{UID: "u1", CheckStatus: api.CheckStatus{Check: "slow", Snapshot: 2, Phase: phase, Soaked: soaked}}
	for i := range w.view.Release.Entries {
		w.view.Checks.Given = max(w.view.Checks.Given, w.view.Release.Entries[i].Generation)
	}
	if w.view.Checks.Failed() {
		w.view.Checks.Refused = &api.CheckRefusal{Snapshot: 2, Check: "slow", Message: "errors failed", At: metav1.NewTime(w.now)}
	}
	w.after(0)
}

func TestAStageWaitsForItsChecks(t *testing.T) {
	w := checked(t)
	w.after(time.Second, "oslo")
	require.Equal(t, "bonn 1, oslo 2, rome 1", w.holding())
	require.Empty(t, staged.Requests(&w.status), "a check is no approval")
	w.verdict(api.CheckChecking, false)
	require.Equal(t, "bonn 1, oslo 2, rome 1", w.holding())
	w.verdict(api.CheckChecking, true)
	require.Equal(t, "bonn 2, lima 2, oslo 2, rome 1", w.holding())
	w.after(time.Second, "bonn", "lima")
	w.after(time.Second, "rome")
	require.Equal(t, "bonn 2, lima 2, oslo 2, rome 2", w.holding())
	require.Equal(t, api.StatePending, w.state(), "what held before the last ones were given it does not count")
	w.verdict(api.CheckPassed, true)
	require.Equal(t, api.StateCompleted, w.state())
}

func TestARunGoesBackOverItsStages(t *testing.T) {
	w := checked(t)
	w.after(time.Second, "oslo")
	w.verdict(api.CheckChecking, true)
	w.after(time.Second, "bonn")
	require.Equal(t, "bonn 2, lima 2, oslo 2, rome 2", w.holding())
	w.verdict(api.CheckRollingBack, false)
	require.Equal(t, "bonn 1, oslo 2, rome 2", w.holding(), "prod first, two at a time; lima had nothing and loses it")
	require.True(t, w.entry("lima").Withdrawn)
	require.Equal(t, int64(2), w.entry("lima").RolledBack)
	w.after(time.Second, "bonn", "lima-")
	require.Equal(t, "bonn 1, oslo 2, rome 1", w.holding())
	w.after(time.Second, "rome")
	require.Equal(t, "bonn 1, oslo 1, rome 1", w.holding())
	require.Equal(t, api.StateRunning, w.state())
	w.after(time.Second, "oslo")
	require.Equal(t, api.StateFailed, w.state())
	require.Equal(t, api.ReasonChecksFailed, w.status.Status.Error.Code)
	require.Contains(t, w.status.Status.Error.Message, "errors failed")

	w.verdict(api.CheckRolledBack, false)
	for _, verb := range []string{api.VerbRunStart, api.VerbRunRerun} {
		refusal := w.operate(verb, api.RunRequest{})
		require.NotNil(t, refusal)
		require.Equal(t, "flotilla rollout resume placement/web", refusal.Next)
	}
	w.run.Name = "web-2"
	_, refusal := staged.Create(&w.run, w.view, w.now)
	require.NotNil(t, refusal)
	require.Contains(t, refusal.Message, "snapshot 2 is refused since 2026-11-20T12:00:")
}

func TestARunStopsWhereNobodyIsToGoBack(t *testing.T) {
	w := checked(t)
	w.after(time.Second, "oslo")
	w.verdict(api.CheckStopped, false)
	require.Equal(t, api.StateStopped, w.state())
	require.Equal(t, "bonn 1, oslo 2, rome 1", w.holding())
	require.Contains(t, w.status.Warnings[0], "stopped: snapshot 2 is refused")
	require.NotNil(t, w.operate(api.VerbRunStart, api.RunRequest{}))
}

func TestARollBackOfARunThatFailsStops(t *testing.T) {
	w := checked(t)
	w.after(time.Second, "oslo")
	w.verdict(api.CheckRollingBack, false)
	require.Equal(t, "bonn 1, oslo 1, rome 1", w.holding())
	w.verdict(api.CheckRollBackFailed, false)
	w.after(10*time.Minute, "oslo!")
	require.Equal(t, api.StateStopped, w.state())
}
