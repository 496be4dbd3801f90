package stage

import (
	"fmt"

	"flotilla/core/api"
)

// Next is the command that brings a run on from the state it is in, or shows what it waits for. It can be
// typed as it stands.
func Next(status *api.UpdateRunStatus) string {
	switch state := status.Status.State; {
	case state == api.StateNotStarted && status.Status.Error != nil:
		return "flotilla describe run/" + status.Run
	case state == api.StateNotStarted && status.BlockedBy != "":
		return "flotilla run status " + status.BlockedBy
	case state == api.StateFailed && status.Content != nil && status.Content.RollBack != nil:
		return "flotilla describe run/" + status.Run
	case state == api.StateNotStarted, state == api.StateStopped, state == api.StateFailed:
		return "flotilla run start " + status.Run
	case state.Done() && status.FailureCount > 0:
		return "flotilla run rerun " + status.Run
	case state.Done() && status.Content != nil:
		return "flotilla get placements"
	case state.Done():
		return "flotilla get members"
	case state.Active():
		if gate := waitingApproval(status); gate != "" {
			return fmt.Sprintf("flotilla run approve %s --gate %s", status.Run, gate)
		}
	}
	return "flotilla run status " + status.Run + " --watch"
}

// waitingApproval is the path of the first gate that waits for somebody, empty without one.
func waitingApproval(status *api.UpdateRunStatus) string {
	found := ""
	for i := range status.Stages {
		EachGate(&status.Stages[i], func(g *api.GateStatus, at GateScope) {
			if found == "" && g.Type == api.GateApproval && g.Status.State == api.StatePending {
				found = at.Path(g.Type)
			}
		})
	}
	return found
}

// Show is the command that shows a run, and follows it while it goes on.
func Show(status *api.UpdateRunStatus) string {
	if state := status.Status.State; state.Active() || state == api.StateStopping {
		return "flotilla run status " + status.Run + " --watch"
	}
	return "flotilla run status " + status.Run
}

// again is the command that takes up members of a run that ended: those of a set that somebody is in;
// the command that shows it when nothing is left to take up.
func again(status *api.UpdateRunStatus) string {
	for _, set := range []string{api.RerunFailed, api.RerunSkippedByUser} {
		found, in := false, chosenBy([]string{set})
		for i := range status.Stages {
			EachMember(&status.Stages[i], func(m *api.MemberUpdateStatus) { found = found || in(nil, m) })
		}
		if found {
			return fmt.Sprintf("flotilla run rerun %s --members %s", status.Run, set)
		}
	}
	return Show(status)
}
