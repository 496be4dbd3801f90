package overview

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/stage"
)

// shownWaits is of how many things a row says that its run waits for them.
const shownWaits = 3

// RunOf is the row of a run with that status, nil while the runner has not taken it up. Its target is that of its spec.
func RunOf(kind string, meta *metav1.ObjectMeta, target string, status *api.UpdateRunStatus) Run {
	run := Run{
		Key: api.Keyed(meta.Namespace, meta.Name), Name: meta.Name, Kind: kind, Created: meta.CreationTimestamp, Target: target,
		State: api.StateNotStarted, Sign: Waiting,
	}
	if status == nil {
		run.Message = "not taken up yet"
		return run
	}
	s := &status.Status
	run.State, run.Started, run.Ended, run.Stage = s.State, s.StartTime, s.CompletedTime, StageOf(status)
	run.Members, run.Finished, run.Failed = status.Members, status.Finished, status.FailureCount
	if i := stage.CurrentStage(status); run.Stage != "" {
		run.FailedHere, run.Tolerated = status.Stages[i].FailureCount, status.Stages[i].MaxAllowedFailures
	}
	if run.Sign = SignOfUpdate(s.State); run.Sign < Warn && run.Failed > 0 {
		run.Sign = Warn
	}
	if status.Content != nil {
		run.Target = fmt.Sprintf("snapshot %d of %s", status.Content.Snapshot, status.Content.Placement)
	}
	waits := stage.WaitsFor(status)
	if status.BlockedBy != "" && s.State == api.StateNotStarted {
		waits = []string{"run " + status.BlockedBy}
	}
	run.Waits, run.WaitsTotal = waits[:min(len(waits), shownWaits)], len(waits)
	switch {
	case s.Error != nil:
		run.Message = s.Error.Message
	case len(waits) > 0:
		run.Message = waits[0]
	}
	return run
}

// StageOf is the stage that a run is at, "2/3 prod"; empty before it starts and when all are done.
func StageOf(status *api.UpdateRunStatus) string {
	i := stage.CurrentStage(status)
	if i < 0 || status.Status.State == api.StateNotStarted {
		return ""
	}
	return fmt.Sprintf("%d/%d %s", i+1, len(status.Stages), status.Stages[i].Name)
}
