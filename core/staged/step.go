package staged

import (
	"fmt"
	"slices"
	"time"

	"flotilla/core/api"
	"flotilla/core/stage"
)

// Step decides what happens to a run at an instant: members that answered are done, waits whose time has come end, and
// members are let have the snapshot as far as stages and gates allow.
func Step(run *api.StagedUpdateRun, status *api.UpdateRunStatus, v View, now time.Time) stage.Decision {
	e := newEngine(run, status, v, now)
	e.followChecks()
	return e.Step()
}

// Operate does what a user asks of a run, and what follows from it at once, or refuses it and changes nothing.
func Operate(run *api.StagedUpdateRun, status *api.UpdateRunStatus, v View, now time.Time, verb string, ask *api.RunRequest) (stage.Decision, *api.Refusal) {
	e, state := newEngine(run, status, v, now), status.Status.State
	if (verb == api.VerbRunStart || verb == api.VerbRunRerun) && !state.Active() {
		refusal := Busy(v.Runs, status.Content.Placement, status.Run)
		if refusal == nil && state != api.StateNotStarted {
			refusal = e.Over()
		}
		if refusal != nil {
			return stage.Decision{}, refusal
		}
	}
	e.followChecks()
	if verb == api.VerbRunStart || verb == api.VerbRunRerun {
		if refusal := e.takesUp(); refusal != nil {
			return stage.Decision{}, refusal
		}
		if e.view.refused(status.Content.Snapshot) != nil && status.Content.RollBack == nil {
			e.turnBack()
		}
	}
	return e.Operate(verb, ask)
}

// Follow does what the spec of a run asks for since it was last done as asked; false when that is nothing. What cannot be
// done is said in the warnings of the run, and not tried again.
func Follow(run *api.StagedUpdateRun, status *api.UpdateRunStatus, v View, now time.Time) (stage.Decision, bool) {
	wanted := run.Spec.State
	if wanted == "" {
		wanted = api.RunInitialize
	}
	if status.Content.Followed == wanted {
		return stage.Decision{}, false
	}
	content := *status.Content
	content.Followed = wanted
	next := *status
	next.Content, next.ObservedGeneration = &content, run.Generation
	verb := map[string]string{api.RunRun: api.VerbRunStart, api.RunStop: api.VerbRunStop}[wanted]
	if verb == "" {
		return stage.Decision{Status: next, Changed: true}, true
	}
	d, refusal := Operate(run, &next, v, now, verb, &api.RunRequest{})
	if refusal != nil {
		next.Warnings = append(slices.Clip(next.Warnings), fmt.Sprintf("spec.state %s was not followed: %s", wanted, refusal.Message))
		return stage.Decision{Status: next, Changed: true}, true
	}
	d.Changed = true
	return d, true
}

// Busy refuses a run of a placement while another one is under way; nil when none is.
func Busy(runs []*api.UpdateRunStatus, placement, run string) *api.Refusal {
	active := Active(runs, placement)
	if active == nil || active.Run == run {
		return nil
	}
	return &api.Refusal{
		Code: api.CodeInvalidState, Next: "flotilla run stop " + active.Run,
		Message: fmt.Sprintf("run %s brings placement %s to members and is %s; one run of a placement at a time", active.Run, placement, active.Status.State),
	}
}

// Active is the run that is under way on a placement, nil when none is.
func Active(runs []*api.UpdateRunStatus, placement string) *api.UpdateRunStatus {
	for _, s := range runs {
		if s.Content != nil && s.Content.Placement == placement && s.UnderWay() {
			return s
		}
	}
	return nil
}
