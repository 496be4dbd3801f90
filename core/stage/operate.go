package stage

import (
	"fmt"

	"flotilla/core/api"
)

// Operate does what a user asks of a run, and what follows from it at once, or refuses it and changes
// nothing. Ask is a RunRequest with one of the verbs run-start, run-stop, run-skip, run-approve and
// run-rerun.
func (r *Run) Operate(verb string, ask *api.RunRequest) (Decision, *api.Refusal) {
	r.record()
	if r.Status.Status.State == api.StateStopping {
		r.drain()
	}
	var noop bool
	var refusal *api.Refusal
	switch verb {
	case api.VerbRunStart:
		noop, refusal = r.startRun(ask)
	case api.VerbRunStop:
		noop, refusal = r.stopRun()
	case api.VerbRunSkip:
		refusal = r.skipTargets(ask.Targets)
	case api.VerbRunApprove:
		refusal = r.approve(ask.Gate, ask.By.Name)
	case api.VerbRunRerun:
		refusal = r.rerun(ask)
	default:
		refusal = &api.Refusal{Code: api.CodeInvalidArgument, Message: "there is no operation " + verb + " on runs"}
	}
	if refusal != nil {
		return Decision{}, refusal
	}
	r.settle()
	step := r.finish()
	step.Noop = noop
	return step, nil
}

// wrongState refuses an operation in the state the run is in, and names the command to try.
func (r *Run) wrongState(why, next string) *api.Refusal {
	return &api.Refusal{
		Code: api.CodeInvalidState, Message: fmt.Sprintf("run %s is %s; %s", r.Status.Run, r.Status.Status.State, why), Next: next,
	}
}

func (r *Run) startRun(ask *api.RunRequest) (noop bool, refusal *api.Refusal) {
	if refusal := needsReason(ask); refusal != nil {
		return false, refusal
	}
	switch r.Status.Status.State {
	case api.StateRunning, api.StatePending:
		if ask.IncludeSkipped || ask.IgnoreMaintenanceWindows && r.Status.WindowsIgnored == "" {
			return false, r.wrongState("skipped members and maintenance windows are decided on when it starts, so it has to be stopped first", "flotilla run stop "+r.Status.Run)
		}
		return true, nil
	case api.StateStopping:
		return false, r.wrongState("it can be started once it has stopped", Show(&r.Status))
	case api.StateCompleted, api.StateSkipped:
		return false, r.wrongState("it is finished, and rerun takes up chosen members", again(&r.Status))
	case api.StateNotStarted:
		refusal = r.firstStart()
	default:
		r.resume(ask.IncludeSkipped)
	}
	if refusal == nil {
		r.ignoreWindows(ask)
	}
	return false, refusal
}

// firstStart has the work bind what holds for the whole run.
func (r *Run) firstStart() *api.Refusal {
	if refusal := r.work.Begin(); refusal != nil {
		return refusal
	}
	r.Status.BlockedBy = ""
	r.Enter(&r.Status.Status, api.StateRunning)
	return nil
}

func needsReason(ask *api.RunRequest) *api.Refusal {
	if !ask.IgnoreMaintenanceWindows || ask.Reason != "" {
		return nil
	}
	return &api.Refusal{Code: api.CodeInvalidArgument, Message: "ignoring maintenance windows needs a reason: give one with --reason TEXT"}
}

func (r *Run) ignoreWindows(ask *api.RunRequest) {
	r.Status.WindowsIgnored = ""
	if ask.IgnoreMaintenanceWindows {
		r.Status.WindowsIgnored = ask.Reason
	}
}

func (r *Run) stopRun() (noop bool, refusal *api.Refusal) {
	switch r.Status.Status.State {
	case api.StateRunning, api.StatePending:
		r.halt(api.StateStopped)
		return false, nil
	case api.StateStopping, api.StateStopped:
		return true, nil
	default:
		return false, r.wrongState("there is nothing to stop", Show(&r.Status))
	}
}

// approve completes a gate that waits; a scheduled start is let go early.
func (r *Run) approve(gate, by string) *api.Refusal {
	if !r.Status.Status.State.Active() {
		next := Show(&r.Status)
		if state := r.Status.Status.State; state != api.StateStopping && !state.Done() {
			next = "flotilla run start " + r.Status.Run
		}
		return r.wrongState("its gates can be approved while it is Running or Pending", next)
	}
	for i := range r.Status.Stages {
		var found *api.GateStatus
		EachGate(&r.Status.Stages[i], func(g *api.GateStatus, at GateScope) {
			if gate == at.Path(g.Type) || gate != "" && gate == g.GateID {
				found = g
			}
		})
		if found == nil {
			continue
		}
		if found.Status.State != api.StatePending {
			return &api.Refusal{
				Code: api.CodeGateNotPending, Message: fmt.Sprintf("gate %s is %s", gate, found.Status.State), Next: Next(&r.Status),
			}
		}
		EachGate(r.Own(i), func(g *api.GateStatus, at GateScope) {
			if gate == at.Path(g.Type) || gate == g.GateID {
				g.ApprovedBy = by
				r.Enter(&g.Status, api.StateCompleted)
			}
		})
		return nil
	}
	return &api.Refusal{Code: api.CodeRunNotFound, Message: fmt.Sprintf("run %s has no gate %q", r.Status.Run, gate), Next: Next(&r.Status)}
}
