package staged

import (
	"fmt"
	"slices"

	"flotilla/core/api"
	"flotilla/core/stage"
)

// followChecks does what the checks of the snapshot ask for: the run stops, or goes back over its members, where they failed;
// a stage whose checks held is behind it.
func (e *engine) followChecks() {
	content, record := e.Status.Content, e.view.Checks
	refused := record.Refuses(content.PlacementUID, content.Snapshot)
	switch {
	case !e.Status.Status.State.Active():
	case refused && record.Phase == api.CheckRollBackFailed:
		e.halt(record.Message)
	case refused && content.RollBack == nil && record.Phase == api.CheckStopped:
		e.halt(record.Refused.String())
	case refused && content.RollBack == nil:
		e.turnBack()
	case !refused && e.hold():
		e.Open(api.GateCheck)
	}
}

// halt stops the run, and says why.
func (e *engine) halt(why string) {
	e.Status.Warnings = append(slices.Clip(e.Status.Warnings), "stopped: "+why)
	e.Halt()
}

// hold says that the checks held for the soak time on everything that was given.
func (e *engine) hold() bool {
	record := e.view.Checks
	if record == nil || record.UID != e.Status.Content.PlacementUID || record.Snapshot != e.Status.Content.Snapshot {
		return false
	}
	if record.Phase == api.CheckExempt {
		return true
	}
	highest := int64(0)
	for _, entry := range e.held {
		if !entry.Withdrawn && entry.Snapshot == record.Snapshot {
			highest = max(highest, entry.Generation)
		}
	}
	return record.Soaked && record.Given >= highest
}

// turnBack has the run go over the stages once more, the last one first: whoever was given the snapshot goes back to what
// it had. Nothing is waited for in between but the members.
func (e *engine) turnBack() {
	content, refused := *e.Status.Content, e.view.Checks.Refused
	content.RollBack = &api.ContentRollBack{Message: refused.String(), Since: e.Stamp()}
	e.Status.Content = &content
	var sequence api.RunStrategy
	var members [][]api.MemberUpdateStatus
	for i := range slices.Backward(content.Strategy.Stages) {
		s := stageOf(&content.Strategy.Stages[i], "")
		sequence.Stages = append(sequence.Stages, api.UpdateStage{Name: s.Name, MaxConcurrency: s.MaxConcurrency})
		members = append(members, e.given(i))
	}
	laid, count, _ := stage.Tree(&sequence, func(at, _ int) []api.MemberUpdateStatus { return members[at] }, api.MaxRunMembers, e.Now)
	e.Status.RerunOf = nil
	e.Restart(laid, count)
}

// given are the members of a stage that may have the snapshot.
func (e *engine) given(i int) []api.MemberUpdateStatus {
	var out []api.MemberUpdateStatus
	if i >= len(e.Status.Stages) {
		return out
	}
	stage.EachMember(&e.Status.Stages[i], func(m *api.MemberUpdateStatus) {
		if entry := e.held[m.Name]; m.Attempt > 0 || entry != nil && entry.Snapshot == e.Status.Content.Snapshot {
			back := notStarted(m.Name)
			back.Rank = m.Rank
			out = append(out, back)
		}
	})
	return out
}

// goneBack says whether a member that goes back is there, what it lacks, and that nobody waits for it.
func (e *engine) goneBack(member string) (done bool, missing string) {
	entry := e.held[member]
	switch {
	case entry == nil:
		return true, ""
	case entry.Withdrawn:
		return false, "it has not confirmed that it gave the placement up" + e.silence(member)
	case entry.Snapshot != e.Status.Content.Snapshot:
		return e.answers(member, entry)
	case entry.Earlier != nil:
		return false, e.unreleased(member)
	}
	return true, ""
}

// recordBack takes in what is known of a member that goes back.
func (e *engine) recordBack(p stage.Place) {
	m := e.At(p)
	done, missing := e.goneBack(m.Name)
	entry, gone := e.held[m.Name], e.Removed(m)
	switch {
	case done && entry == nil:
		e.conclude(p, api.StateCompleted, api.ReasonContentWithdrawn, "had nothing before, and gave the placement up")
	case done:
		e.conclude(p, api.StateCompleted, api.ReasonContentAvailable, fmt.Sprintf("is back on snapshot %d", entry.Snapshot))
	case gone != nil:
		e.conclude(p, api.StateSkipped, gone.Reason, gone.Message)
	case e.silence(m.Name) != "" && (entry.Withdrawn || entry.Snapshot != e.Status.Content.Snapshot):
		e.conclude(p, api.StateSkipped, api.ReasonNotAwaited, "goes back once it is heard of")
	case e.Overdue(m) && e.Status.Status.State == api.StateStopping:
		e.conclude(p, api.StateStopped, api.ReasonNotAwaited, "the run was stopped while the member was stuck: "+missing)
	case e.Overdue(m):
		e.Tell(p, api.ReasonUpdateRunStuck, fmt.Sprintf("stuck, not done after %s: %s", StuckAfter, missing))
	}
}

// checkBack judges a member whose turn it is to go back.
func (e *engine) checkBack(m *api.MemberUpdateStatus) stage.Verdict {
	if v := e.Removed(m); v != nil {
		return *v
	}
	return stage.Verdict{State: api.StateRunning, Reason: api.ReasonContentReleased, Message: fmt.Sprintf("goes back from snapshot %d", e.Status.Content.Snapshot)}
}

// Ended says what a run failed of that has all stages behind it: one that went back brought nothing.
func (e *engine) Ended() *api.UpdateError {
	back := e.Status.Content.RollBack
	if back == nil {
		return nil
	}
	return &api.UpdateError{Code: api.ReasonChecksFailed, Message: "members went back to what they had: " + back.Message}
}

// refused is why a snapshot is not brought to anybody; nil where it may be.
func (v *View) refused(snapshot int64) *api.Refusal {
	if v.Placement == nil || !v.Checks.Refuses(string(v.Placement.UID), snapshot) {
		return nil
	}
	return &api.Refusal{
		Code: api.CodeInvalidState, Message: fmt.Sprintf("placement %s: %s; change what it selects, or have it tried again", v.Placement.Key(), v.Checks.Refused),
		Next: typed(v.Placement.Key(), "rollout resume"),
	}
}

// takesUp refuses to bring a refused snapshot to members again, unless it is to finish going back.
func (e *engine) takesUp() *api.Refusal {
	if refusal := e.view.refused(e.Status.Content.Snapshot); refusal != nil && e.view.Checks.Phase != api.CheckRollingBack {
		return refusal
	}
	return nil
}
