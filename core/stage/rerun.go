package stage

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
)

// rerun opens a run that ended for chosen members, with the versions and images it was bound to. From
// Stopped and Failed it takes up the members that are named and no others (A62); without names it takes
// up all of the run, from Stopped with what users skipped (A55).
func (r *Run) rerun(ask *api.RunRequest) *api.Refusal {
	state := r.Status.Status.State
	switch state {
	case api.StateStopped, api.StateFailed, api.StateCompleted, api.StateSkipped:
	case api.StateNotStarted:
		return r.wrongState("it has to be started first", "flotilla run start "+r.Status.Run)
	case api.StateStopping:
		return r.wrongState("members can be taken up again once it has stopped", Show(&r.Status))
	default:
		return r.wrongState("it has to be stopped first", "flotilla run stop "+r.Status.Run)
	}
	if refusal := cmp.Or(needsReason(ask), r.checkChoice(ask.Members)); refusal != nil {
		return refusal
	}
	var refusal *api.Refusal
	switch {
	case state.Done():
		refusal = r.again(ask.Members)
	case len(ask.Members) > 0:
		refusal = r.takeUp(ask.Members)
	default:
		r.resume(state == api.StateStopped)
		if state == api.StateFailed {
			r.reviveWhere(chosenBy([]string{api.RerunFailed}))
			r.retreat()
		}
	}
	if refusal == nil {
		r.Enter(&r.Status.Status, api.StateRunning)
		r.ignoreWindows(ask)
	}
	return refusal
}

// again opens a finished run for the members that are named, those that failed without names.
func (r *Run) again(names []string) *api.Refusal {
	if len(names) == 0 {
		names = []string{api.RerunFailed}
	}
	if r.reviveWhere(chosenBy(names)) == 0 {
		return r.nobody(names)
	}
	r.retreat()
	return nil
}

// resume starts a run that stopped or failed: members of the unfinished stage that were stopped, that
// the system skipped and, in a Failed run, that failed are NotStarted again, as are all whose work was undone.
func (r *Run) resume(includeSkipped bool) {
	retryFailed := r.Status.Status.State == api.StateFailed
	if i := r.current(); i >= 0 {
		for j := range r.Own(i).Groups {
			g := &r.Status.Stages[i].Groups[j]
			revived := false
			for k := range g.Members {
				m := &g.Members[k]
				again := m.Status.State == api.StateStopped || m.SkippedBy == api.SkippedBySystem ||
					retryFailed && m.Status.State == api.StateFailed
				if again {
					r.revive(m)
					revived = true
				}
			}
			if revived && !g.SkippedByUser {
				reopenGates(g.AfterGates)
			}
		}
	}
	r.reviveWhere(func(s *api.StageStatus, m *api.MemberUpdateStatus) bool {
		return m.Status.State == api.StateCompleted && r.work.Undone(s, m)
	})
	if includeSkipped {
		r.reviveSkipped()
	}
	r.retreat()
	r.Enter(&r.Status.Status, api.StateRunning)
}

// revive makes a member NotStarted again; what happened to it moves into its history.
func (r *Run) revive(m *api.MemberUpdateStatus) {
	if m.Status.State == api.StateFailed || m.Status.State == api.StateCompleted {
		r.Remember(m, m.Status.State, m.Reason, m.Message)
	}
	m.Status = api.UpdateStatus{State: api.StateNotStarted}
	m.Reason, m.Message, m.SkippedBy, m.WindowClass = "", "", "", 0
	m.NextEligibleTime, m.PendingSince = metav1.Time{}, metav1.Time{}
}

// reopenGates lets gates that were skipped be reached again.
func reopenGates(gates []api.GateStatus) {
	for k := range gates {
		if gates[k].Status.State == api.StateSkipped {
			gates[k].Status = api.UpdateStatus{State: api.StateNotStarted}
			gates[k].GateID, gates[k].AbsoluteStartTime = "", metav1.Time{}
		}
	}
}

// reviveSkipped revives what users skipped in the stages that are not behind us.
func (r *Run) reviveSkipped() {
	r.reviveWhere(func(s *api.StageStatus, m *api.MemberUpdateStatus) bool {
		return s.Status.State != api.StateCompleted && m.SkippedBy == api.SkippedByUser
	})
}

// reviveWhere revives members and opens again whatever stands around them; it returns how many.
func (r *Run) reviveWhere(chosen func(*api.StageStatus, *api.MemberUpdateStatus) bool) int {
	count := 0
	for i := range r.Status.Stages {
		was := r.Status.Stages[i]
		here := 0
		for j := range was.Groups {
			inGroup := 0
			for k := range was.Groups[j].Members {
				if chosen(&was, &r.Status.Stages[i].Groups[j].Members[k]) {
					r.revive(&r.Own(i).Groups[j].Members[k])
					inGroup++
				}
			}
			if inGroup > 0 {
				g := &r.Status.Stages[i].Groups[j]
				g.SkippedByUser = false
				reopenGates(g.BeforeGates)
				reopenGates(g.AfterGates)
				here += inGroup
			}
		}
		if here > 0 {
			reopenStage(&r.Status.Stages[i])
		}
		count += here
	}
	return count
}

// retreat takes back the arrival at stages behind the current one, which were reached before an earlier
// stage was opened again. What was approved stays approved.
func (r *Run) retreat() {
	first := r.current()
	for i := first + 1; first >= 0 && i < len(r.Status.Stages); i++ {
		if s := &r.Status.Stages[i]; s.Status.State.Done() || s.Status.StartTime.IsZero() {
			continue
		}
		s := r.Own(i)
		s.Status = api.UpdateStatus{State: api.StateNotStarted}
		s.GroupsDone = metav1.Time{}
		if s.Wait != nil && s.Wait.Status.State == api.StateRunning {
			s.Wait.Status, s.Wait.Deadline = api.UpdateStatus{State: api.StateNotStarted}, metav1.Time{}
		}
		EachGate(s, func(g *api.GateStatus, _ GateScope) {
			if g.Status.State == api.StatePending {
				g.Status = api.UpdateStatus{State: api.StateNotStarted}
			}
		})
	}
}

func reopenStage(s *api.StageStatus) {
	s.SkippedByUser = false
	if s.Status.State.Done() {
		s.Status = api.UpdateStatus{State: api.StateNotStarted}
	}
	s.GroupsDone = metav1.Time{}
	reopenGates(s.BeforeGates)
	reopenGates(s.AfterGates)
	if s.Wait != nil {
		s.Wait.Status = api.UpdateStatus{State: api.StateNotStarted}
		s.Wait.Deadline, s.Wait.SkipRequested = metav1.Time{}, false
	}
}
