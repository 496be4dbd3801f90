package upgrade_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/stage"
	"flotilla/core/upgrade"
)

// A run whose running member is not heard of says so, once, and goes on when it is heard again.
func TestARunNamesTheRunningMemberThatIsNotHeardOf(t *testing.T) {
	run, status, view := silentPair(t, "1.29.2")
	started, refusal := upgrade.Operate(run, &status, view, benchNow, api.VerbRunStart, &api.RunRequest{})
	require.Nil(t, refusal)
	require.Empty(t, stage.WaitsFor(&started.Status))
	first := func(s *api.UpdateRunStatus) *api.MemberUpdateStatus { return &s.Stages[0].Groups[0].Members[0] }
	said := first(&started.Status).Message

	here, _ := view.Fleet.Member("a")
	gone := here.MemberFacts
	gone.Reachable, gone.LastSeen = false, benchNow.Add(time.Minute)
	require.NoError(t, view.Fleet.Set(gone))
	later := benchNow.Add(5 * time.Minute)
	lost := upgrade.Step(run, &started.Status, view, later)
	want := said + "; its agent was last heard of at 2026-11-20T10:01:00Z; the upgrade cannot be followed"
	require.True(t, lost.Changed)
	require.Equal(t, want, first(&lost.Status).Message)
	require.Equal(t, []string{"member a: " + want}, stage.WaitsFor(&lost.Status))
	require.Len(t, lost.Events, 1)
	require.Equal(t, api.ReasonMemberUnreachable, lost.Events[0].Reason)
	require.Equal(t, "a", lost.Events[0].Name)
	again := upgrade.Step(run, &lost.Status, view, later)
	require.False(t, again.Changed)
	require.Empty(t, again.Events)

	stopped, refusal := upgrade.Operate(run, &lost.Status, view, later, api.VerbRunStop, &api.RunRequest{})
	require.Nil(t, refusal)
	require.Equal(t, api.StateStopping, stopped.Status.Status.State)
	require.Equal(t, []string{"member a: " + want}, stage.WaitsFor(&stopped.Status), "it is what stopping waits for")
	_, refusal = upgrade.CheckDelete(&stopped.Status)
	require.Equal(t, "flotilla run status r --watch", refusal.Next)
	_, refusal = upgrade.CheckDelete(&lost.Status)
	require.Equal(t, "flotilla run stop r", refusal.Next)

	require.NoError(t, view.Fleet.Set(here.MemberFacts))
	back := upgrade.Step(run, &lost.Status, view, later)
	require.Equal(t, said, first(&back.Status).Message)
	require.Empty(t, stage.WaitsFor(&back.Status))
}

// What is decided on at a start is not silently left out of one that comes too late.
func TestAnActiveRunRefusesWhatAStartDecidesOn(t *testing.T) {
	run, status, view := silentPair(t, "1.29.2")
	started, refusal := upgrade.Operate(run, &status, view, benchNow, api.VerbRunStart, &api.RunRequest{})
	require.Nil(t, refusal)
	for _, ask := range []api.RunRequest{{IncludeSkipped: true}, {IgnoreMaintenanceWindows: true, Reason: "urgent"}} {
		_, refusal = upgrade.Operate(run, &started.Status, view, benchNow, api.VerbRunStart, &ask)
		require.NotNil(t, refusal)
		require.Equal(t, api.CodeInvalidState, refusal.Code)
		require.Equal(t, "flotilla run stop r", refusal.Next)
	}
	repeat, refusal := upgrade.Operate(run, &started.Status, view, benchNow, api.VerbRunStart, &api.RunRequest{})
	require.Nil(t, refusal)
	require.True(t, repeat.Noop)
}

// An operation took as long as its agent says, however late the hub hears of it.
func TestAnOperationEndsWhenItsAgentSays(t *testing.T) {
	started := benchNow
	heard := benchNow.Add(time.Hour)
	for name, c := range map[string]struct{ at, want time.Time }{
		"in between":       {started.Add(7*time.Minute + 300*time.Millisecond), started.Add(7 * time.Minute)},
		"before its start": {started.Add(-time.Minute), started},
		"still to come":    {heard.Add(time.Minute), heard},
		"unknown":          {time.Time{}, heard},
	} {
		for _, outcome := range []string{api.OutcomeSucceeded, api.OutcomeFailed} {
			run, status, view := silentPair(t, "1.29.2")
			step, refusal := upgrade.Operate(run, &status, view, started, api.VerbRunStart, &api.RunRequest{})
			require.Nil(t, refusal)
			id := step.Take[0].Operation
			view.Results = map[string]api.UpgradeResult{id: {Operation: id, Outcome: outcome, At: metav1.NewTime(c.at)}}
			ended := upgrade.Step(run, &step.Status, view, heard)
			require.Equal(t, c.want, ended.Status.Stages[0].Groups[0].Members[0].Status.CompletedTime.Time, "%s, %s", name, outcome)
		}
	}
}
