package upgrade

import (
	"fmt"
	"time"

	"flotilla/core/api"
)

// Operate does what a user asks of a run, and what follows from it at once, or refuses it and changes
// nothing. Which operation is legal in which state is the table of updates.md 1.6. Ask is a
// RunRequest with one of the verbs run-start, run-stop, run-skip, run-approve and run-rerun.
func Operate(run *api.UpdateRun, status *api.UpdateRunStatus, view View, now time.Time, verb string, ask *api.RunRequest) (Decision, *api.Refusal) {
	e := newEngine(run, status, view, now)
	e.record()
	if e.st.Status.State == api.StateStopping {
		e.drain()
	}
	var noop bool
	var refusal *api.Refusal
	switch verb {
	case api.VerbRunStart:
		noop, refusal = e.startRun(ask)
	case api.VerbRunStop:
		noop, refusal = e.stopRun()
	case api.VerbRunSkip:
		refusal = e.skipTargets(ask.Targets)
	case api.VerbRunApprove:
		refusal = e.approve(ask.Gate, ask.By.Name)
	case api.VerbRunRerun:
		refusal = e.rerun(ask)
	default:
		refusal = &api.Refusal{Code: api.CodeInvalidArgument, Message: "there is no operation " + verb + " on runs"}
	}
	if refusal != nil {
		return Decision{}, refusal
	}
	e.settle()
	step := e.finish()
	step.Noop = noop
	return step, nil
}

// wrongState refuses an operation in the state the run is in, and names the command to try.
func (e *engine) wrongState(why, next string) *api.Refusal {
	return &api.Refusal{
		Code: api.CodeInvalidState, Message: fmt.Sprintf("run %s is %s; %s", e.st.Run, e.st.Status.State, why), Next: next,
	}
}

func (e *engine) startRun(ask *api.RunRequest) (noop bool, refusal *api.Refusal) {
	if refusal := needsReason(ask); refusal != nil {
		return false, refusal
	}
	switch e.st.Status.State {
	case api.StateRunning, api.StatePending:
		if ask.IncludeSkipped || ask.IgnoreMaintenanceWindows && e.st.WindowsIgnored == "" {
			return false, e.wrongState("skipped members and maintenance windows are decided on when it starts, so it has to be stopped first", "flotilla run stop "+e.st.Run)
		}
		return true, nil
	case api.StateStopping:
		return false, e.wrongState("it can be started once it has stopped", show(&e.st))
	case api.StateCompleted, api.StateSkipped:
		return false, e.wrongState("it is finished, and rerun takes up chosen members", again(&e.st))
	case api.StateNotStarted:
		refusal = e.firstStart()
	default:
		e.resume(ask.IncludeSkipped)
	}
	if refusal == nil {
		e.ignoreWindows(ask)
	}
	return false, refusal
}

func needsReason(ask *api.RunRequest) *api.Refusal {
	if !ask.IgnoreMaintenanceWindows || ask.Reason != "" {
		return nil
	}
	return &api.Refusal{Code: api.CodeInvalidArgument, Message: "ignoring maintenance windows needs a reason: give one with --reason TEXT"}
}

func (e *engine) ignoreWindows(ask *api.RunRequest) {
	e.st.WindowsIgnored = ""
	if ask.IgnoreMaintenanceWindows {
		e.st.WindowsIgnored = ask.Reason
	}
}

func (e *engine) stopRun() (noop bool, refusal *api.Refusal) {
	switch e.st.Status.State {
	case api.StateRunning, api.StatePending:
		e.halt(api.StateStopped)
		return false, nil
	case api.StateStopping, api.StateStopped:
		return true, nil
	default:
		return false, e.wrongState("there is nothing to stop", show(&e.st))
	}
}

// approve completes a gate that waits; a scheduled start is let go early.
func (e *engine) approve(gate, by string) *api.Refusal {
	if !e.st.Status.State.Active() {
		next := show(&e.st)
		if state := e.st.Status.State; state != api.StateStopping && !state.Done() {
			next = "flotilla run start " + e.st.Run
		}
		return e.wrongState("its gates can be approved while it is Running or Pending", next)
	}
	for i := range e.st.Stages {
		var found *api.GateStatus
		eachGate(&e.st.Stages[i], func(g *api.GateStatus, at gateScope) {
			if gate == at.path(g.Type) || gate != "" && gate == g.GateID {
				found = g
			}
		})
		if found == nil {
			continue
		}
		if found.Status.State != api.StatePending {
			return &api.Refusal{
				Code: api.CodeGateNotPending, Message: fmt.Sprintf("gate %s is %s", gate, found.Status.State), Next: Next(&e.st),
			}
		}
		eachGate(e.own(i), func(g *api.GateStatus, at gateScope) {
			if gate == at.path(g.Type) || gate == g.GateID {
				g.ApprovedBy = by
				e.enter(&g.Status, api.StateCompleted)
			}
		})
		return nil
	}
	return &api.Refusal{Code: api.CodeRunNotFound, Message: fmt.Sprintf("run %s has no gate %q", e.st.Run, gate), Next: Next(&e.st)}
}
