package upgrade_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/stage"
	"flotilla/core/upgrade"
)

func TestProgressIsShownAndWritten(t *testing.T) {
	s := threeInAGroup(t)
	s.operation(api.VerbRunStart)([]string{"r"}, "")
	r := s.runs["r"]
	id := r.status.Stages[0].Groups[0].Members[0].OperationID
	s.results[id] = api.UpgradeResult{Operation: id, Outcome: api.OutcomeRunning, Percent: 40, Message: "draining n3"}
	d := upgrade.Step(r.object, &r.status, s.view("r"), s.now)
	require.True(t, d.Changed)
	require.Empty(t, d.Events)
	require.Equal(t, "40 % done: draining n3", d.Status.Stages[0].Groups[0].Members[0].Message)
	require.False(t, upgrade.Step(r.object, &d.Status, s.view("r"), s.now).Changed)
	s.results[id] = api.UpgradeResult{Operation: id, Outcome: api.OutcomeRunning, Percent: 50}
	require.Equal(t, "50 % done", upgrade.Step(r.object, &d.Status, s.view("r"), s.now).Status.Stages[0].Groups[0].Members[0].Message)
}

func TestFailureKeepsWhatTheAgentSaid(t *testing.T) {
	s := threeInAGroup(t)
	s.operation(api.VerbRunStart)([]string{"r"}, "")
	r := s.runs["r"]
	id := r.status.Stages[0].Groups[0].Members[0].OperationID
	s.results[id] = api.UpgradeResult{Operation: id, Outcome: api.OutcomeFailed, Reason: api.ReasonHealthCheckFailed, Message: "3 of 9 nodes Ready", Pools: []string{"np1"}}
	d := upgrade.Step(r.object, &r.status, s.view("r"), s.now)
	m := d.Status.Stages[0].Groups[0].Members[0]
	require.Equal(t, api.StateFailed, m.Status.State)
	require.Equal(t, &api.UpdateError{Code: api.ReasonHealthCheckFailed, Target: "m1"}, m.Status.Error, "the message stands with the member")
	require.Equal(t, "3 of 9 nodes Ready", m.Message)
	require.Equal(t, api.PoolUpgraded, m.NodeImages[0].Result, "the pool that was done before the failure")
	require.Equal(t, []stage.Lock{{Member: "m1", Operation: id}}, d.Release)

	s.results[id] = api.UpgradeResult{Operation: id, Outcome: api.OutcomeFailed, Message: "no"}
	m = upgrade.Step(r.object, &r.status, s.view("r"), s.now).Status.Stages[0].Groups[0].Members[0]
	require.Equal(t, api.ReasonUpgradeFailed, m.Reason)
	require.Equal(t, api.PoolNotMoved, m.NodeImages[0].Result)
}

func TestEventsAreAudited(t *testing.T) {
	e := stage.Event{
		At: benchNow, Run: "r", Stage: "s", Group: "g", Scope: "member", Name: "m1",
		From: api.StateRunning, To: api.StateFailed, Reason: api.ReasonTimeout, Message: "no result within 1h0m0s",
	}
	require.Equal(t, "member m1 Running -> Failed (Timeout): no result within 1h0m0s", e.String())
	require.Equal(t, api.Audit{
		Header: api.NewHeader(api.KindAudit), At: metav1.NewTime(benchNow), Object: "run/r", Type: "Warning",
		Reason: api.ReasonTimeout, Message: e.String(), By: "runner", Member: "m1",
	}, e.Audit("runner"))
	run := stage.Event{Run: "r", Scope: "run", From: api.StateRunning, To: api.StateCompleted}
	require.Equal(t, "run Running -> Completed", run.String())
	audit := run.Audit("runner")
	require.Equal(t, []string{"Normal", "Completed", ""}, []string{audit.Type, audit.Reason, audit.Member})
	long := stage.Event{Scope: "run", Message: strings.Repeat("x", 5000)}.Audit("runner")
	packed, err := json.Marshal(long)
	require.NoError(t, err)
	require.Less(t, len(packed), 1024)
}

func TestUnknownOperation(t *testing.T) {
	s := threeInAGroup(t)
	_, refusal := s.operate("r", "run-rewind", &api.RunRequest{})
	require.Equal(t, api.CodeInvalidArgument, refusal.Code)
}

func TestDeletingAFailedRunGivesItsLocksBack(t *testing.T) {
	status := &api.UpdateRunStatus{Run: "r", Status: api.UpdateStatus{State: api.StateFailed}}
	status.Stages = []api.StageStatus{{Groups: []api.GroupStatus{{Members: []api.MemberUpdateStatus{
		{Name: "m1", OperationID: "u/m1/1", Locked: true}, {Name: "m2"},
	}}}}}
	locks, refusal := upgrade.CheckDelete(status)
	require.Nil(t, refusal)
	require.Equal(t, []stage.Lock{{Member: "m1", Operation: "u/m1/1"}}, locks)
}

func TestStrategyOfAProfileStays(t *testing.T) {
	profiles := []api.AutoUpgradeProfile{{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: api.AutoUpgradeProfileSpec{StrategyName: "st"}}}
	require.Nil(t, upgrade.CheckStrategyDelete("other", profiles))
	refusal := upgrade.CheckStrategyDelete("st", profiles)
	require.Equal(t, api.CodeInvalidState, refusal.Code)
	require.Contains(t, refusal.Message, "profile p")
}

// TestReportKeepsItsShape pins the keys of the JSON that programs read.
func TestReportKeepsItsShape(t *testing.T) {
	s := threeInAGroup(t)
	s.set([]string{"m2", "cp=1.30.3"}, "")
	r := s.runs["r"]
	report := upgrade.Plan([]upgrade.PlannedRun{{Run: r.object}}, s.view("r"), s.now, upgrade.Assumptions{})
	packed, err := json.Marshal(report)
	require.NoError(t, err)
	var out map[string][]map[string]any
	require.NoError(t, json.Unmarshal(packed, &out))
	run := out["runs"][0]
	require.Equal(t, "r", run["name"])
	require.Equal(t, "Completed", run["state"])
	require.Equal(t, "2026-11-20T09:40:00Z", run["expectedEnd"], "two members of 20 minutes, one skipped")
	events, members := run["events"].([]any), run["members"].([]any)
	require.Equal(t, map[string]any{"at": "2026-11-20T09:00:00Z", "scope": "run", "name": "", "state": "Running", "reason": ""}, events[0])
	require.Equal(t, map[string]any{
		"name": "m1", "stage": "s", "group": "g", "windowClass": 3.0, "start": "2026-11-20T09:00:00Z", "end": "2026-11-20T09:20:00Z",
		"from": "1.29.2", "to": "1.29.9", "state": "Completed", "reason": "UpgradeSucceeded",
		"message":  "control plane 1.29.2 to 1.29.9; pool np1 to 1.29.9 and image AKSUbuntu-2204gen2containerd-202401.17.1",
		"expected": map[string]any{"duration": "20m0s", "basis": "Default"},
	}, members[0])
	last := members[2].(map[string]any)
	require.Equal(t, []any{"m2", nil, nil, "Skipped", "AheadOfTarget"}, []any{last["name"], last["start"], last["end"], last["state"], last["reason"]})
}

// TestRecordOfALargeRunFits measures the record of 1,000 members that all completed.
func TestRecordOfALargeRunFits(t *testing.T) {
	run, view := thousand(t, 20, 50)
	status, refusal := upgrade.Create(run, nil, view, benchNow)
	require.Nil(t, refusal)
	sim := upgrade.NewSimulation(run, status, view, benchNow, func(string, int) upgrade.Assumed { return upgrade.Assumed{Duration: time.Minute} })
	_, refusal = sim.Operate(benchNow, api.VerbRunStart, &api.RunRequest{})
	require.Nil(t, refusal)
	sim.Until(benchNow.Add(24 * time.Hour))
	packed, err := json.Marshal(&sim.Status)
	require.NoError(t, err)
	require.Equal(t, 1000, sim.Status.Finished)
	require.Less(t, len(packed), 1<<20, "before it is packed")
	t.Logf("the record of 1,000 completed members takes %d KiB before it is packed", len(packed)>>10)
}

func TestTimesAreWholeSeconds(t *testing.T) {
	s := threeInAGroup(t)
	r := s.runs["r"]
	d, refusal := upgrade.Operate(r.object, &r.status, s.view("r"), s.now.Add(700*time.Millisecond).In(time.FixedZone("", 3600)), api.VerbRunStart, &api.RunRequest{})
	require.Nil(t, refusal)
	require.Equal(t, metav1.NewTime(s.now), d.Status.Status.StartTime)
	require.Equal(t, s.now, d.Events[0].At)
}
