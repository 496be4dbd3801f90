package staged_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/stage"
	"flotilla/core/window"
)

// opens is a schedule of four hours a day from a time of day on.
func opens(t *testing.T, at string) *window.Schedule {
	t.Helper()
	s, err := window.Parse("default", &api.MaintenanceWindow{
		Schedule: api.MaintenanceSchedule{Daily: &api.DailySchedule{IntervalDays: 1}}, DurationHours: 4, StartTime: at, StartDate: "2026-01-01",
	}, time.LoadLocation)
	require.NoError(t, err)
	return s
}

// windowed is a run at noon over oslo, whose window opens at 14:00, and bonn, whose window closes then, in one stage.
func windowed(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, "oslo tier=prod order=1", "bonn tier=prod order=2")
	order := "order"
	prod := by("prod", "prod")
	prod.SortingLabelKey = &order
	w.strategy(prod)
	w.run.Annotations = map[string]string{api.AnnotationWindows: "true"}
	for name, at := range map[string]string{"oslo": "14:00", "bonn": "10:00"} {
		m := w.members[name]
		m.Windows = opens(t, at)
		w.members[name] = m
	}
	return w
}

// Members get content in their windows; one whose window is closed keeps nobody else from it.
func TestARunKeepsToMaintenanceWindows(t *testing.T) {
	w := windowed(t)
	w.create()
	p := w.foreseen()
	require.Equal(t, map[string][2]float64{"bonn": {0, 2}, "oslo": {120, 122}}, w.starts(&p))
	w.wants(api.RunRun)
	w.after(time.Minute, "bonn")
	oslo := must(stage.MemberStatus(&w.status, "oslo"))
	require.Equal(t, api.ReasonWindowClosed, oslo.Reason)
	require.Equal(t, "its maintenance window opens at 2026-11-20T14:00:00Z (Fri 14:00 UTC)", oslo.Message)
	require.Equal(t, "bonn 1", w.holding())
	require.Equal(t, oslo.NextEligibleTime.Time, w.recheck)
	w.after(w.recheck.Sub(w.now))
	require.Equal(t, "bonn 1, oslo 1", w.holding())
	w.after(time.Minute, "oslo")
	require.Equal(t, api.StateCompleted, w.state())
}

// What a run says goes before its strategy; without either windows do not count, nor with a reason to ignore them.
func TestWhoKeepsToWindows(t *testing.T) {
	for name, c := range map[string]struct {
		run, strategy, reason string
		waits                 bool
	}{
		"neither":           {},
		"the strategy":      {strategy: "true", waits: true},
		"the run does not":  {strategy: "true", run: "false"},
		"the run":           {strategy: "false", run: "true", waits: true},
		"ignored this time": {run: "true", reason: "CVE-2026-1234"},
	} {
		t.Run(name, func(t *testing.T) {
			w := windowed(t)
			w.run.Annotations = map[string]string{api.AnnotationWindows: c.run}
			w.view.Strategy.Annotations = map[string]string{api.AnnotationWindows: c.strategy}
			w.create()
			require.Nil(t, w.operate(api.VerbRunStart, api.RunRequest{IgnoreMaintenanceWindows: c.reason != "", Reason: c.reason}))
			w.after(time.Minute)
			oslo := must(stage.MemberStatus(&w.status, "oslo"))
			require.Equal(t, c.waits, oslo.Status.State == api.StatePending)
		})
	}
}

// Members that go back do at any time.
func TestGoingBackWaitsForNoWindow(t *testing.T) {
	w := windowed(t)
	w.view.Strategy.Annotations = map[string]string{api.AnnotationRolloutCheck: "slow"}
	w.view.Release = &api.Release{Step: 1}
	for name := range w.members {
		w.view.Release.Entries = append(w.view.Release.Entries, api.ReleaseEntry{Member: name, UID: "u1", Snapshot: 1, Work: "work1", Generation: 1})
	}
	w.snapshot("work2")
	w.create()
	w.wants(api.RunRun)
	w.after(time.Minute, "bonn")
	w.after(2*time.Hour, "oslo")
	require.ElementsMatch(t, []string{"oslo 2", "bonn 2"}, strings.Split(w.holding(), ", "))
	w.verdict(api.CheckRollingBack, false)
	require.Contains(t, w.holding(), "oslo 1")
	w.after(time.Minute, "oslo")
	require.ElementsMatch(t, []string{"oslo 1", "bonn 1"}, strings.Split(w.holding(), ", "), "bonn's window is closed")
}

// Members that are to give the placement up do in their windows.
func TestGivingUpWaitsForTheWindow(t *testing.T) {
	w := windowed(t)
	w.view.Release = &api.Release{Step: 1, Entries: []api.ReleaseEntry{{Member: "oslo", UID: "u1", Snapshot: 1, Work: "work1", Generation: 1}}}
	w.view.Schedule.Bindings = w.view.Schedule.Bindings[1:]
	w.create()
	w.wants(api.RunRun)
	w.after(time.Minute, "bonn")
	require.Equal(t, "bonn 1, oslo 1", w.holding())
	require.Equal(t, api.ReasonWindowClosed, must(stage.MemberStatus(&w.status, "oslo")).Reason)
	w.after(2 * time.Hour)
	require.Equal(t, "bonn 1", w.holding())
}

// A window that does not open is warned of when the run is created.
func TestAWindowThatNeverOpensIsWarnedOf(t *testing.T) {
	w := windowed(t)
	oslo := w.members["oslo"]
	oslo.Windows = window.Never()
	w.members["oslo"] = oslo
	w.create()
	require.Equal(t, []string{"the maintenance window of oslo does not open within 400 days: the run waits there"}, w.status.Warnings)
}
