package staged_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/phrase"
	"flotilla/core/staged"
)

// words are conditions as "Type=Status Reason: message".
func words(conditions []metav1.Condition) (out []string) {
	for _, c := range conditions {
		text := fmt.Sprintf("%s=%s %s", c.Type, c.Status, c.Reason)
		if c.Message != "" {
			text += ": " + c.Message
		}
		out = append(out, text)
	}
	return out
}

func in(state api.UpdateState) api.UpdateStatus { return api.UpdateStatus{State: state} }

// A run is told in KubeFleet's conditions, by the state that it is in.
func TestConditionsOfARun(t *testing.T) {
	failed := api.UpdateStatus{State: api.StateFailed, Error: &api.UpdateError{Message: "the policy changed"}}
	for name, c := range map[string]struct {
		status api.UpdateStatus
		back   *api.ContentRollBack
		stages []api.StageStatus
		want   []string
	}{
		"not started": {status: in(api.StateNotStarted)},
		"failed":      {status: failed, want: []string{"Progressing=False UpdateRunFailed: the policy changed", "Succeeded=False UpdateRunFailed: the policy changed"}},
		"completed": {status: in(api.StateCompleted), want: []string{
			"Progressing=False UpdateRunSucceeded: all stages are behind the run", "Succeeded=True UpdateRunSucceeded: all stages are behind the run",
		}},
		"goes back":           {status: in(api.StateRunning), back: &api.ContentRollBack{Message: "checks failed"}, want: []string{"Progressing=False UpdateRunRollingBack: members go back to what they had: checks failed"}},
		"stops on its way":    {status: in(api.StateStopping), back: &api.ContentRollBack{}, want: []string{"Progressing=Unknown UpdateRunStopping: members that have the snapshot are waited for"}},
		"stopped":             {status: in(api.StateStopped), want: []string{"Progressing=False UpdateRunStopped: no further member is given the snapshot"}},
		"waits":               {status: in(api.StatePending), want: []string{"Progressing=False UpdateRunWaiting"}},
		"goes on":             {status: in(api.StateRunning), want: []string{"Progressing=True UpdateRunProgressing: members are given the snapshot"}},
		"somebody takes long": {status: in(api.StateRunning), stages: stuck(api.StateRunning), want: []string{"Progressing=False UpdateRunStuck: member oslo: it lacks a disk"}},
		"somebody took long":  {status: in(api.StateRunning), stages: stuck(api.StateCompleted), want: []string{"Progressing=True UpdateRunProgressing: members are given the snapshot"}},
	} {
		run := &api.UpdateRunStatus{Run: "web-1", Status: c.status, Content: &api.ContentRun{Snapshot: 7, Policy: "p", RollBack: c.back}, Stages: c.stages}
		shown := staged.Shown(run)
		initialized := "Initialized=True UpdateRunInitializedSuccessfully: 0 members in " + phrase.Count(len(c.stages), "stage")
		require.Equal(t, append([]string{initialized}, c.want...), words(shown.Conditions), name)
		require.Equal(t, []string{"7", "p"}, []string{shown.ResourceSnapshotIndexUsed, shown.PolicySnapshotIndexUsed})
	}
	shown := staged.Shown(&api.UpdateRunStatus{Status: api.UpdateStatus{Error: &api.UpdateError{Message: "no such placement"}}})
	require.Equal(t, []string{"Initialized=False UpdateRunInitializedFailed: no such placement"}, words(shown.Conditions))
	require.Equal(t, []string{"Initialized=False UpdateRunInitializedFailed"}, words(staged.Shown(&api.UpdateRunStatus{}).Conditions))
}

// stuck is a stage with a member that takes too long.
func stuck(state api.UpdateState) []api.StageStatus {
	return []api.StageStatus{{Name: "all", Status: in(api.StateRunning), Groups: []api.GroupStatus{{
		Name: "all", Status: in(api.StateRunning), Members: []api.MemberUpdateStatus{{Name: "oslo", Status: in(state), Reason: api.ReasonUpdateRunStuck, Message: "it lacks a disk"}},
	}}}}
}

// Stages, their tasks and their members are told too; those that nobody came to have no condition.
func TestConditionsOfAStage(t *testing.T) {
	member := func(name string, rank int64, attempt int, state api.UpdateState) api.MemberUpdateStatus {
		return api.MemberUpdateStatus{Name: name, Rank: rank, Attempt: attempt, Status: in(state), Message: "told"}
	}
	for name, c := range map[string]struct {
		stage api.StageStatus
		want  []string
	}{
		"skipped for want of members": {api.StageStatus{Status: in(api.StateSkipped)}, []string{"Progressing=False StageUpdatingSkippedNoClusters: no member is in the stage", "Succeeded=True StageUpdatingSkippedNoClusters: no member is in the stage"}},
		"completed":                   {api.StageStatus{Status: in(api.StateCompleted)}, []string{"Progressing=False StageUpdatingSucceeded", "Succeeded=True StageUpdatingSucceeded"}},
		"failed":                      {api.StageStatus{Status: api.UpdateStatus{State: api.StateFailed, Error: &api.UpdateError{Message: "why"}}}, []string{"Progressing=False StageUpdatingFailed", "Succeeded=False StageUpdatingFailed: why"}},
		"stopping":                    {api.StageStatus{Status: in(api.StateStopping)}, []string{"Progressing=Unknown StageUpdatingStopping"}},
		"stopped":                     {api.StageStatus{Status: in(api.StateStopped)}, []string{"Progressing=False StageUpdatingStopped"}},
		"pending":                     {api.StageStatus{Status: in(api.StatePending)}, []string{"Progressing=False StageUpdatingWaiting"}},
		"running":                     {api.StageStatus{Status: in(api.StateRunning)}, []string{"Progressing=True StageUpdatingStarted"}},
		"its members are done":        {api.StageStatus{Status: in(api.StateRunning), GroupsDone: metav1.Unix(1, 0)}, []string{"Progressing=False StageUpdatingWaiting"}},
		"not reached":                 {api.StageStatus{Status: in(api.StateNotStarted)}, nil},
	} {
		shown := staged.Shown(&api.UpdateRunStatus{Content: &api.ContentRun{}, Stages: []api.StageStatus{c.stage}})
		require.Equal(t, c.want, words(shown.StagesStatus[0].Conditions), name)
	}
	stage := api.StageStatus{
		Name: "prod", Status: in(api.StateSkipped),
		BeforeGates: []api.GateStatus{{Type: api.GateApproval, GateID: "g", ApprovedBy: "anna", Status: in(api.StateCompleted)}, {Type: api.GateScheduledStart}},
		AfterGates:  []api.GateStatus{{Type: api.GateApproval, GateID: "h", Status: in(api.StatePending)}},
		Wait:        &api.WaitStatus{Status: in(api.StateCompleted)},
		Groups: []api.GroupStatus{{Members: []api.MemberUpdateStatus{
			member("rome", 2, 0, api.StateNotStarted), member("oslo", 2, 1, api.StateCompleted), member("bern", 1, 1, api.StateFailed), member("lima", 3, 1, api.StateRunning),
		}}},
	}
	last := api.StageStatus{Name: api.DeleteStage, Groups: []api.GroupStatus{{Members: []api.MemberUpdateStatus{member("kyiv", 0, 0, api.StateNotStarted)}}}}
	shown := staged.Shown(&api.UpdateRunStatus{Run: "shop/web-7", Content: &api.ContentRun{}, Stages: []api.StageStatus{stage, last}})
	require.Equal(t, 4, shown.PolicyObservedMemberCount, "members that give the placement up were not picked")
	require.Equal(t, "kyiv", shown.DeletionStageStatus.Clusters[0].ClusterName)
	require.Len(t, shown.StagesStatus, 1)
	of := map[string][]string{}
	var order []string
	for _, c := range shown.StagesStatus[0].Clusters {
		order, of[c.ClusterName] = append(order, c.ClusterName), words(c.Conditions)
	}
	require.Equal(t, []string{"bern", "oslo", "rome", "lima"}, order)
	const started = "Started=True ClusterUpdatingStarted"
	require.Equal(t, map[string][]string{
		"bern": {started, "Succeeded=False ClusterUpdatingFailed: told"}, "oslo": {started, "Succeeded=True ClusterUpdatingSucceeded: told"}, "rome": nil, "lima": {started},
	}, of)
	require.Equal(t, []string{"Progressing=False StageUpdatingSucceeded", "Succeeded=True StageUpdatingSucceeded"}, words(shown.StagesStatus[0].Conditions), "one that was skipped and has members")
	tasks := func(all []api.StageTaskStatus) (out []string) {
		for i := range all {
			out = append(out, all[i].Type+" "+all[i].ApprovalRequestName)
			out = append(out, words(all[i].Conditions)...)
		}
		return out
	}
	require.Equal(t, []string{
		"Approval web-7-before-prod", "ApprovalRequestCreated=True StageTaskApprovalRequestCreated", "ApprovalRequestApproved=True StageTaskApprovalRequestApproved: approved by anna",
	}, tasks(shown.StagesStatus[0].BeforeStageTaskStatus))
	require.Equal(t, []string{
		"TimedWait ", "WaitTimeElapsed=True AfterStageTaskWaitTimeElapsed", "Approval web-7-after-prod", "ApprovalRequestCreated=True StageTaskApprovalRequestCreated",
	}, tasks(shown.StagesStatus[0].AfterStageTaskStatus))
}
