package deed

import (
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/plan"
)

// What a person chooses of an operation is asked of the run, and typed.
func TestChoicesOfARunAreAskedAndTyped(t *testing.T) {
	for _, c := range []struct {
		action  string
		asked   map[string][]string
		want    api.RunRequest
		command string
		choices []string
	}{
		{"start", nil, api.RunRequest{}, "flotilla run start spring", []string{"skipped", "windows"}},
		{
			"start",
			map[string][]string{"skipped": {"yes"}, "windows": {"yes"}, "reason": {"a hole"}},
			api.RunRequest{IncludeSkipped: true, IgnoreMaintenanceWindows: true, Reason: "a hole"},
			"flotilla run start spring --include-skipped --ignore-maintenance-windows --reason 'a hole'",
			[]string{"skipped", "windows"},
		},
		{"rerun", nil, api.RunRequest{}, "flotilla run rerun spring", []string{"members", "windows"}},
		{
			"rerun",
			map[string][]string{"members": {"a, b", "c"}, "windows": {"yes"}},
			api.RunRequest{Members: []string{"a", "b", "c"}, IgnoreMaintenanceWindows: true, Reason: "to be given"},
			"flotilla run rerun spring --members a,b,c --ignore-maintenance-windows --reason 'to be given'",
			[]string{"members", "windows"},
		},
		{"stop", map[string][]string{"windows": {"yes"}}, api.RunRequest{IgnoreMaintenanceWindows: true}, "flotilla run stop spring", nil},
	} {
		asked := map[string][]string{"run": {"spring"}}
		maps.Copy(asked, c.asked)
		d := deedOf(t, c.action, asked)
		ask, err := d.Run(&api.UpdateRun{})
		require.NoError(t, err)
		c.want.Run = "spring"
		if c.want.Members == nil {
			c.want.Members = ask.Members
			require.Empty(t, ask.Members)
		}
		require.Equal(t, &c.want, ask)
		require.Equal(t, c.command, d.Command)
		var choices []string
		for _, choice := range d.Choices {
			choices = append(choices, choice.Name)
		}
		require.Equal(t, c.choices, choices)
		delete(asked, "run")
		delete(asked, "reason")
		if c.choices != nil {
			require.Equal(t, asked, d.Chosen())
		}
		require.Equal(t, ask.Reason != "", d.Reason == MustReason, "windows are ignored with a reason")
	}
}

func TestOnlyGatesThatWaitAreApproved(t *testing.T) {
	gate := func(name string, state api.UpdateState) api.StageStatus {
		return api.StageStatus{Name: name, BeforeGates: []api.GateStatus{{GateID: "g-" + name, Type: api.GateApproval, Status: api.UpdateStatus{State: state}}}}
	}
	run := &api.UpdateRun{Status: &api.UpdateRunStatus{Run: "spring", Stages: []api.StageStatus{
		gate("done", api.StateCompleted), gate("test", api.StatePending), gate("prod", api.StatePending), gate("far", api.StateNotStarted),
	}}}
	d := deedOf(t, "approve", map[string][]string{"run": {"spring"}})
	ask, err := d.Run(run)
	require.NoError(t, err)
	require.Equal(t, "test/before/Approval", ask.Gate, "the first, where nobody chose")
	require.Equal(t, []Option{{"test/before/Approval", "test/before/Approval"}, {"prod/before/Approval", "prod/before/Approval"}}, d.Choices[0].Options)
	run.Status.Stages = run.Status.Stages[:1]
	_, err = d.Run(run)
	require.ErrorContains(t, err, "no gate of run spring waits")
}

func TestWhatCannotBeSkipped(t *testing.T) {
	for target, fine := range map[string]bool{"member/a": true, "group/a": true, "stage/a": true, "wait/a": true, "gate/a": false, "member/": false, "a": false} {
		d := deedOf(t, "skip", map[string][]string{"run": {"spring"}, "target": {target}})
		_, err := d.Run(&api.UpdateRun{})
		require.Equal(t, fine, err == nil, target)
	}
}

func TestWhatIsForeseenOfARun(t *testing.T) {
	end := metav1.NewTime(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))
	run := &api.UpdateRun{Status: &api.UpdateRunStatus{}}
	without := &plan.Answer{Report: plan.Report{Runs: make([]plan.Run, 1)}, RunDetails: make([]plan.RunDetail, 1)}
	with := &plan.Answer{Report: plan.Report{Runs: []plan.Run{{ExpectedEnd: &end}}}, RunDetails: []plan.RunDetail{{
		Upgrade: "Full to 1.31.2", WaitsFor: []string{"gate a"}, Warnings: []string{"no catalog"},
	}}}
	d := deedOf(t, "start", map[string][]string{"run": {"spring"}})
	require.NoError(t, d.Foreseen(run, &api.RunRequest{}, without, with, end.Time))
	require.Equal(t, []string{"run spring: Full to 1.31.2", "it is expected to end 2026-11-20 12:00Z"}, d.Plan)
	require.Equal(t, []string{"gate a", "no catalog"}, d.Held)
	require.Contains(t, d.Seen, "it is NotStarted")

	with.RunDetails[0].Refusal = &api.Refusal{Message: "there is no strategy"}
	require.ErrorContains(t, d.Foreseen(run, &api.RunRequest{}, without, with, end.Time), "there is no strategy")
	require.ErrorContains(t, d.Foreseen(run, &api.RunRequest{}, &plan.Answer{}, with, end.Time), `there is no run "spring"`)
	require.ErrorContains(t, d.Foreseen(run, &api.RunRequest{}, without, &plan.Answer{Report: with.Report}, end.Time), `there is no run "spring"`)
}

func TestWhatComesOfAnOperationOnARun(t *testing.T) {
	d := deedOf(t, "start", map[string][]string{"run": {"spring"}})
	answer := &api.RunResponse{State: api.StateRunning, Warnings: []string{"w"}, Next: "flotilla run status spring"}
	require.Equal(t, Outcome{Said: "Run spring is Running.", Notes: []string{"w"}, Next: "flotilla run status spring"}, d.RunOutcome(answer))
	answer.Unchanged = true
	require.Equal(t, "Run spring was so already: it is Running.", d.RunOutcome(answer).Said)
}

func TestARunIsAskedForByItsKey(t *testing.T) {
	require.Equal(t, api.GetRequest{APIVersion: api.VersionFlotilla, Kind: api.KindUpdateRun, Name: "spring"}, RunRef("spring"))
	require.Equal(t, api.GetRequest{Kind: api.KindStagedUpdateRun, Namespace: "shop", Name: "web-1"}, RunRef("shop/web-1"))
}
