package health

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
)

func TestNotTakenUp(t *testing.T) {
	require.Empty(t, NotTakenUp("spring", before(takeUp-1), noon))
	require.Equal(t, []string{"run/spring NotTakenUp: the hub has not frozen its members yet -> flotilla describe run spring"}, told(NotTakenUp("spring", before(takeUp), noon)))
}

// A run that failed tells of itself and its members; one that goes on of members that failed or wait without end.
func TestRun(t *testing.T) {
	members := []api.MemberUpdateStatus{
		{Name: "a", Status: api.UpdateStatus{State: api.StateFailed}, Reason: "DriverFailed", Message: "broke"},
		{Name: "b", Status: api.UpdateStatus{State: api.StatePending}, Reason: "Locked", Message: "held"},
		{Name: "c", Status: api.UpdateStatus{State: api.StatePending}, Reason: "Window", Message: "closed", NextEligibleTime: before(-time.Hour)},
	}
	run := func(state api.UpdateState, e *api.UpdateError) *api.UpdateRunStatus {
		status := &api.UpdateRunStatus{Run: "spring", Members: 3, FailureCount: 1, Status: api.UpdateStatus{State: state, Error: e}}
		status.Stages = []api.StageStatus{{Groups: []api.GroupStatus{{Members: members}}}}
		return status
	}
	next := " -> flotilla run status spring"
	a, b := "run/spring DriverFailed: member a: broke"+next, "run/spring Locked: member b: held"+next
	for _, c := range []struct {
		run  *api.UpdateRunStatus
		want []string
	}{
		{run(api.StateNotStarted, nil), []string{}},
		{run(api.StateNotStarted, &api.UpdateError{Code: "NoMembers", Message: "none"}), []string{"run/spring NoMembers: none" + next}},
		{run(api.StateRunning, nil), []string{a, b}},
		{run(api.StateStopping, nil), []string{a}},
		{run(api.StateFailed, nil), []string{"run/spring RunFailed: 1 of 3 members failed" + next, a}},
		{run(api.StateFailed, &api.UpdateError{Message: "why"}), []string{"run/spring RunFailed: why" + next, a}},
		{run(api.StateCompleted, nil), []string{}},
	} {
		require.Equal(t, c.want, told(Run(c.run)), c.run.Status.State)
	}
}

// A run that goes on tells of each approval it waits for, where it stands, and what to type.
func TestGates(t *testing.T) {
	gate := func(id, kind, name string, state api.UpdateState) []api.GateStatus {
		return []api.GateStatus{{GateID: id, Type: kind, DisplayName: name, Status: api.UpdateStatus{State: state, StartTime: before(time.Hour)}}}
	}
	status := &api.UpdateRunStatus{Run: "spring", Status: api.UpdateStatus{State: api.StateRunning}, Stages: []api.StageStatus{{
		Name: "canary", BeforeGates: gate("g1", api.GateApproval, "ask Ann", api.StatePending), AfterGates: gate("g2", api.GateApproval, "", api.StateCompleted),
		Groups: []api.GroupStatus{{
			Name: "east", BeforeGates: gate("g3", api.GateScheduledStart, "", api.StatePending), AfterGates: gate("g4", api.GateApproval, "", api.StatePending),
		}},
	}}}
	found := Run(status)
	require.Equal(t, []string{
		"run/spring WaitsForGate: waits for an approval before stage canary: ask Ann -> flotilla run approve spring --gate g1",
		"run/spring WaitsForGate: waits for an approval after group east of stage canary -> flotilla run approve spring --gate g4",
	}, told(found))
	require.Equal(t, before(time.Hour), found[0].Since)
	status.Status.State = api.StateStopping
	require.Empty(t, Run(status), "who stops waits for nobody")
}

func TestProfile(t *testing.T) {
	status := &api.AutoUpgradeProfileStatus{LastTriggerStatus: api.TriggerFailed, LastTriggerMessage: "m"}
	next := " -> flotilla describe profile weekly"
	require.Equal(t, []string{"profile/weekly TriggerFailed: m" + next}, told(Profile("weekly", status)))
	status.LastTriggerError = &api.UpdateError{Code: "NoMembers", Message: "none"}
	require.Equal(t, []string{"profile/weekly NoMembers: none" + next}, told(Profile("weekly", status)))
	status.LastTriggerStatus = "Succeeded"
	require.Empty(t, Profile("weekly", status))
}
