package staged

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/phrase"
	"flotilla/core/stage"
)

// Reasons of conditions, KubeFleet's.
const (
	reasonInitialized   = "UpdateRunInitializedSuccessfully"
	reasonUninitialized = "UpdateRunInitializedFailed"

	reasonProgressing = "UpdateRunProgressing"
	reasonWaiting     = "UpdateRunWaiting"
	reasonRollingBack = "UpdateRunRollingBack"
	reasonStopping    = "UpdateRunStopping"
	reasonStopped     = "UpdateRunStopped"
	reasonFailed      = "UpdateRunFailed"
	reasonSucceeded   = "UpdateRunSucceeded"

	stagePrefix   = "StageUpdating"
	memberPrefix  = "ClusterUpdating"
	reasonSkipped = "StageUpdatingSkippedNoClusters"

	reasonRequested = "StageTaskApprovalRequestCreated"
	reasonApproved  = "StageTaskApprovalRequestApproved"
	reasonElapsed   = "AfterStageTaskWaitTimeElapsed"
)

// Types of conditions, KubeFleet's.
const (
	conditionInitialized = "Initialized"
	conditionProgressing = "Progressing"
	conditionSucceeded   = "Succeeded"
	conditionStarted     = "Started"
	conditionRequested   = "ApprovalRequestCreated"
	conditionApproved    = "ApprovalRequestApproved"
	conditionElapsed     = "WaitTimeElapsed"
)

// Shown tells the status of a run in KubeFleet's words.
func Shown(status *api.UpdateRunStatus) api.StagedConditions {
	t := teller{status: status}
	if status.Content == nil {
		t.add(&t.out.Conditions, conditionInitialized, metav1.ConditionFalse, reasonUninitialized, errorText(&status.Status), metav1.Time{})
		return t.out
	}
	c := status.Content
	t.out.PolicySnapshotIndexUsed, t.out.ResourceSnapshotIndexUsed = c.Policy, strconv.FormatInt(c.Snapshot, 10)
	t.out.StrategySnapshot = &c.Strategy
	for i := range status.Stages {
		s := t.stage(&status.Stages[i])
		if s.StageName == api.DeleteStage {
			t.out.DeletionStageStatus = &s
			continue
		}
		t.out.PolicyObservedMemberCount += len(s.Clusters)
		t.out.StagesStatus = append(t.out.StagesStatus, s)
	}
	t.run()
	return t.out
}

// teller makes the conditions of one run.
type teller struct {
	status *api.UpdateRunStatus
	out    api.StagedConditions
}

func (t *teller) add(to *[]metav1.Condition, kind string, state metav1.ConditionStatus, reason, message string, at metav1.Time) {
	*to = append(*to, metav1.Condition{
		Type: kind, Status: state, Reason: reason, Message: message, LastTransitionTime: at, ObservedGeneration: t.status.ObservedGeneration,
	})
}

// run tells of the whole.
func (t *teller) run() {
	to, status := &t.out.Conditions, &t.status.Status
	t.add(to, conditionInitialized, metav1.ConditionTrue, reasonInitialized, phrase.Count(t.status.Members, "member")+" in "+phrase.Count(len(t.out.StagesStatus), "stage"), status.StartTime)
	waits := strings.Join(stage.WaitsFor(t.status), "; ")
	switch state := status.State; {
	case state == api.StateNotStarted:
	case state == api.StateFailed:
		t.add(to, conditionProgressing, metav1.ConditionFalse, reasonFailed, errorText(status), status.CompletedTime)
		t.add(to, conditionSucceeded, metav1.ConditionFalse, reasonFailed, errorText(status), status.CompletedTime)
	case state.Done():
		t.add(to, conditionProgressing, metav1.ConditionFalse, reasonSucceeded, "all stages are behind the run", status.CompletedTime)
		t.add(to, conditionSucceeded, metav1.ConditionTrue, reasonSucceeded, "all stages are behind the run", status.CompletedTime)
	case t.status.Content.RollBack != nil && state.Active():
		t.add(to, conditionProgressing, metav1.ConditionFalse, reasonRollingBack, "members go back to what they had: "+t.status.Content.RollBack.Message, t.status.Content.RollBack.Since)
	case state == api.StateStopping:
		t.add(to, conditionProgressing, metav1.ConditionUnknown, reasonStopping, "members that have the snapshot are waited for", status.StartTime)
	case state == api.StateStopped:
		t.add(to, conditionProgressing, metav1.ConditionFalse, reasonStopped, "no further member is given the snapshot", status.StartTime)
	case t.stuck():
		t.add(to, conditionProgressing, metav1.ConditionFalse, api.ReasonUpdateRunStuck, waits, status.StartTime)
	case state == api.StatePending || waits != "":
		t.add(to, conditionProgressing, metav1.ConditionFalse, reasonWaiting, waits, status.StartTime)
	default:
		t.add(to, conditionProgressing, metav1.ConditionTrue, reasonProgressing, "members are given the snapshot", status.StartTime)
	}
}

// stuck says that a member takes too long.
func (t *teller) stuck() bool {
	found := false
	for i := range t.status.Stages {
		stage.EachMember(&t.status.Stages[i], func(m *api.MemberUpdateStatus) {
			found = found || m.Status.State == api.StateRunning && m.Reason == api.ReasonUpdateRunStuck
		})
	}
	return found
}

func (t *teller) stage(s *api.StageStatus) api.ContentStageStatus {
	out := api.ContentStageStatus{
		StageName: s.Name, Clusters: []api.ContentMemberStatus{}, StartTime: s.Status.StartTime, EndTime: s.Status.CompletedTime,
		BeforeStageTaskStatus: t.tasks(s, s.BeforeGates, "before", nil), AfterStageTaskStatus: t.tasks(s, s.AfterGates, "after", s.Wait),
	}
	for _, m := range inOrder(s) {
		out.Clusters = append(out.Clusters, api.ContentMemberStatus{ClusterName: m.Name, Conditions: t.member(m)})
	}
	t.stageConditions(s, &out)
	return out
}

// inOrder are the members of a stage as they come to it.
func inOrder(s *api.StageStatus) []*api.MemberUpdateStatus {
	var all []*api.MemberUpdateStatus
	stage.EachMember(s, func(m *api.MemberUpdateStatus) { all = append(all, m) })
	slices.SortStableFunc(all, func(a, b *api.MemberUpdateStatus) int {
		return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Name, b.Name))
	})
	return all
}

func (t *teller) stageConditions(s *api.StageStatus, out *api.ContentStageStatus) {
	to := &out.Conditions
	progress := func(state metav1.ConditionStatus, word string) {
		t.add(to, conditionProgressing, state, stagePrefix+word, "", s.Status.StartTime)
	}
	switch state := s.Status.State; {
	case state == api.StateSkipped && len(out.Clusters) == 0:
		t.add(to, conditionProgressing, metav1.ConditionFalse, reasonSkipped, "no member is in the stage", s.Status.CompletedTime)
		t.add(to, conditionSucceeded, metav1.ConditionTrue, reasonSkipped, "no member is in the stage", s.Status.CompletedTime)
	case state.Done():
		progress(metav1.ConditionFalse, "Succeeded")
		t.add(to, conditionSucceeded, metav1.ConditionTrue, stagePrefix+"Succeeded", "", s.Status.CompletedTime)
	case state == api.StateFailed:
		progress(metav1.ConditionFalse, "Failed")
		t.add(to, conditionSucceeded, metav1.ConditionFalse, stagePrefix+"Failed", errorText(&s.Status), s.Status.CompletedTime)
	case state == api.StateStopping:
		progress(metav1.ConditionUnknown, "Stopping")
	case state == api.StateStopped:
		progress(metav1.ConditionFalse, "Stopped")
	case state == api.StatePending || state == api.StateRunning && !s.GroupsDone.IsZero():
		progress(metav1.ConditionFalse, "Waiting")
	case state == api.StateRunning:
		progress(metav1.ConditionTrue, "Started")
	}
}

// member tells of one member; one that was not reached has no condition.
func (t *teller) member(m *api.MemberUpdateStatus) []metav1.Condition {
	var out []metav1.Condition
	if m.Attempt > 0 {
		t.add(&out, conditionStarted, metav1.ConditionTrue, memberPrefix+"Started", "", m.Status.StartTime)
	}
	switch m.Status.State {
	case api.StateCompleted:
		t.add(&out, conditionSucceeded, metav1.ConditionTrue, memberPrefix+"Succeeded", m.Message, m.Status.CompletedTime)
	case api.StateFailed:
		t.add(&out, conditionSucceeded, metav1.ConditionFalse, memberPrefix+"Failed", m.Message, m.Status.CompletedTime)
	}
	return out
}

// tasks tells of the gates, and of the wait, on one side of a stage.
func (t *teller) tasks(s *api.StageStatus, gates []api.GateStatus, side string, wait *api.WaitStatus) []api.StageTaskStatus {
	var out []api.StageTaskStatus
	if wait != nil {
		task := api.StageTaskStatus{Type: api.TaskTimedWait}
		if wait.Status.State.Done() {
			t.add(&task.Conditions, conditionElapsed, metav1.ConditionTrue, reasonElapsed, "", wait.Status.CompletedTime)
		}
		out = append(out, task)
	}
	for i := range gates {
		g := &gates[i]
		if g.Type != api.GateApproval {
			continue
		}
		task := api.StageTaskStatus{Type: api.TaskApproval, ApprovalRequestName: RequestName(t.status.Run, side, s.Name)}
		if g.GateID != "" {
			t.add(&task.Conditions, conditionRequested, metav1.ConditionTrue, reasonRequested, "", g.Status.StartTime)
		}
		if g.Status.State == api.StateCompleted {
			t.add(&task.Conditions, conditionApproved, metav1.ConditionTrue, reasonApproved, "approved by "+g.ApprovedBy, g.Status.CompletedTime)
		}
		out = append(out, task)
	}
	return out
}

// RequestName is the name of the approval request of a side of a stage: "web-7-before-prod".
func RequestName(run, side, stage string) string {
	return run[strings.LastIndexByte(run, '/')+1:] + "-" + side + "-" + stage
}

func errorText(s *api.UpdateStatus) string {
	if s.Error == nil {
		return ""
	}
	return s.Error.Message
}
