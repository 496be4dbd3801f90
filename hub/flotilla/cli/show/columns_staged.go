package show

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/overview"
	"flotilla/hub/flotilla/cli/session"
)

// stagedRunWithETA is a staged run with its expected end, where the command line has asked for that.
type stagedRunWithETA struct {
	api.StagedUpdateRun
	ExpectedEnd metav1.Time `json:"expectedEnd"`
}

func stagedRunColumns(r *stagedRunWithETA, now time.Time) []Column {
	status := orZero(r.Status).UpdateRunStatus
	stage, done, waits, snapshot := "-", "-", "-", session.OrDash(r.Spec.ResourceSnapshotIndex)
	if len(status.Stages) > 0 {
		stage, waits = session.OrDash(overview.StageOf(&status)), session.OrDash(waitingOn(&status))
		done = fmt.Sprintf("%d/%d", status.Finished-status.FailureCount, status.Members)
	}
	if status.Content != nil {
		snapshot = fmt.Sprint(status.Content.Snapshot)
	}
	eta := "-"
	if !r.ExpectedEnd.IsZero() {
		eta = Until(now, r.ExpectedEnd.Time)
	}
	return []Column{
		{"Name", false, r.Name},
		{"State", false, session.OrDash(string(status.Status.State))},
		{"Placement", false, r.Spec.PlacementName},
		{"Snapshot", false, snapshot},
		{"Stage", false, stage},
		{"Done/Total", false, done},
		{"Waiting-On", false, waits},
		{"ETA", false, eta},
		{"Age", false, session.Since(now, r.CreationTimestamp.Time)},
		{"Strategy", true, r.Spec.StrategyName},
		{"Wanted", true, session.OrDash(r.Spec.State)},
	}
}

func stagedStrategyColumns(s *api.StagedUpdateStrategy, now time.Time) []Column {
	names := make([]string, len(s.Spec.Stages))
	for i := range s.Spec.Stages {
		names[i] = s.Spec.Stages[i].Name
	}
	return []Column{
		{"Name", false, s.Name},
		{"Stages", false, strings.Join(names, ", ")},
		{"Age", false, session.Since(now, s.CreationTimestamp.Time)},
	}
}

func requestColumns(r *api.ApprovalRequest, now time.Time) []Column {
	approved := "False"
	for _, c := range r.Status.Conditions {
		if c.Type == "Approved" {
			approved = string(c.Status)
		}
	}
	return []Column{
		{"Name", false, r.Name},
		{"Run", false, r.Spec.TargetUpdateRun},
		{"Stage", false, r.Spec.TargetStage},
		{"Approved", false, approved},
		{"Age", false, session.Since(now, r.CreationTimestamp.Time)},
	}
}
