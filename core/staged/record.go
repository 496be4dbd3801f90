package staged

import (
	"cmp"
	"fmt"

	"flotilla/core/api"
	"flotilla/core/stage"
)

// Record takes in what is known of a member that was let have the snapshot, or is to give the placement up.
func (e *engine) Record(p stage.Place) {
	if e.Status.Content.RollBack != nil {
		e.recordBack(p)
		return
	}
	m, leaves := e.At(p), e.Status.Stages[p.Stage].Name == api.DeleteStage
	done, missing := e.progress(m.Name, leaves)
	gone := e.Removed(m)
	if gone == nil && !leaves {
		gone = e.unpicked(m.Name)
	}
	switch {
	case done && leaves:
		e.conclude(p, api.StateCompleted, api.ReasonContentWithdrawn, "gave the placement up")
	case done:
		e.conclude(p, api.StateCompleted, api.ReasonContentAvailable, fmt.Sprintf("snapshot %d is available", e.Status.Content.Snapshot))
	case e.left(), !e.view.Placement.External():
		e.conclude(p, api.StateStopped, api.ReasonNotAwaited, e.Over().Message)
	case gone != nil:
		e.conclude(p, api.StateSkipped, gone.Reason, gone.Message)
	case !e.Overdue(m), e.excused(m.Name):
	case e.Status.Status.State == api.StateStopping:
		e.conclude(p, api.StateStopped, api.ReasonNotAwaited, "the run was stopped while the member was stuck: "+missing)
	default:
		e.Tell(p, api.ReasonUpdateRunStuck, fmt.Sprintf("stuck, not done after %s: %s", StuckAfter, missing))
	}
}

// conclude ends what a member does in the run.
func (e *engine) conclude(p stage.Place, state api.UpdateState, reason, message string) {
	m := e.Change(p)
	m.Reason, m.Message = reason, stage.Cut(message, stage.MessageRoom)
	if state == api.StateSkipped {
		m.SkippedBy = api.SkippedBySystem
	}
	e.Unlock(m)
	e.Enter(&m.Status, state)
}

// progress says whether a member is done, and what it lacks.
func (e *engine) progress(member string, leaves bool) (done bool, missing string) {
	entry := e.held[member]
	switch {
	case leaves && entry == nil:
		return true, ""
	case leaves:
		return false, "it has not confirmed that it gave the placement up" + e.silence(member)
	case entry == nil, entry.Withdrawn, entry.Snapshot != e.Status.Content.Snapshot:
		return false, e.unreleased(member)
	}
	if why := e.heldBack(member); why != "" {
		return false, why // the overrides of the member changed since it was given the snapshot
	}
	return e.answers(member, entry)
}

// answers says whether what was released to a member is available there, and what it lacks.
func (e *engine) answers(member string, entry *api.ReleaseEntry) (done bool, missing string) {
	result := e.view.Result(member)
	switch silence := e.silence(member); {
	case silence != "":
		return false, fmt.Sprintf("snapshot %d is released to it%s", entry.Snapshot, silence)
	case result == nil || result.UID != entry.UID || result.Generation != entry.Generation || result.Withdrawn:
		return false, fmt.Sprintf("it has not answered to snapshot %d yet", entry.Snapshot)
	case result.Available == "True", result.DiffReported == "True":
		return true, ""
	default:
		return false, lacks(result)
	}
}

// silence is what to add about a member that nobody hears of.
func (e *engine) silence(member string) string {
	if m, known := e.view.Member(member); known && m.Silent {
		return ", and nobody hears of it"
	}
	return ""
}

// unreleased says why a member that was let have the snapshot is not given it.
func (e *engine) unreleased(member string) string {
	return cmp.Or(e.heldBack(member), "the snapshot is not released to it yet")
}

// heldBack says what keeps a member from being given what it is to have, nothing where nothing does.
func (e *engine) heldBack(member string) string {
	if e.view.Release != nil {
		for i := range e.view.Release.Held {
			if h := &e.view.Release.Held[i]; h.Member == member {
				return h.Reason
			}
		}
	}
	return ""
}

// lacks says what keeps a snapshot from being available, as the member tells it.
func lacks(r *api.PlacementResult) string {
	if len(r.Failures) > 0 {
		f := &r.Failures[0]
		if f.Message != "" {
			return f.String() + ": " + f.Message
		}
		return f.String() + ": " + f.Reason
	}
	for _, text := range []string{r.AppliedMessage, r.AvailableMessage} {
		if text != "" {
			return text
		}
	}
	return "its objects are not available yet"
}
