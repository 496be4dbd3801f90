package upgrade

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
)

// rerun opens a run that ended for chosen members, with the versions and images it was bound to. From
// Stopped and Failed it takes up the members that are named and no others (A62); without names it takes
// up all of the run, from Stopped with what users skipped (A55).
func (e *engine) rerun(ask *api.RunRequest) *api.Refusal {
	state := e.st.Status.State
	switch state {
	case api.StateStopped, api.StateFailed, api.StateCompleted, api.StateSkipped:
	case api.StateNotStarted:
		return e.wrongState("it has to be started first", "flotilla run start "+e.st.Run)
	case api.StateStopping:
		return e.wrongState("members can be taken up again once it has stopped", show(&e.st))
	default:
		return e.wrongState("it has to be stopped first", "flotilla run stop "+e.st.Run)
	}
	if refusal := cmp.Or(needsReason(ask), e.checkChoice(ask.Members)); refusal != nil {
		return refusal
	}
	var refusal *api.Refusal
	switch {
	case state.Done():
		refusal = e.again(ask.Members)
	case len(ask.Members) > 0:
		refusal = e.takeUp(ask.Members)
	default:
		e.resume(state == api.StateStopped)
		if state == api.StateFailed {
			e.reviveWhere(chosenBy([]string{api.RerunFailed}))
			e.retreat()
		}
	}
	if refusal == nil {
		e.enter(&e.st.Status, api.StateRunning)
		e.ignoreWindows(ask)
	}
	return refusal
}

// again opens a finished run for the members that are named, those that failed without names.
func (e *engine) again(names []string) *api.Refusal {
	if len(names) == 0 {
		names = []string{api.RerunFailed}
	}
	if e.reviveWhere(chosenBy(names)) == 0 {
		return e.nobody(names)
	}
	e.retreat()
	return nil
}

// resume starts a run that stopped or failed: members of the unfinished stage that were stopped, that
// the system skipped and, in a Failed run, that failed are NotStarted again.
func (e *engine) resume(includeSkipped bool) {
	retryFailed := e.st.Status.State == api.StateFailed
	if i := e.current(); i >= 0 {
		for j := range e.own(i).Groups {
			g := &e.st.Stages[i].Groups[j]
			revived := false
			for k := range g.Members {
				m := &g.Members[k]
				again := m.Status.State == api.StateStopped || m.SkippedBy == api.SkippedBySystem ||
					retryFailed && m.Status.State == api.StateFailed
				if again {
					e.revive(m)
					revived = true
				}
			}
			if revived && !g.SkippedByUser {
				reopenGates(g.AfterGates)
			}
		}
	}
	if includeSkipped {
		e.reviveSkipped()
	}
	e.retreat()
	e.enter(&e.st.Status, api.StateRunning)
}

// revive makes a member NotStarted again; what happened to it moves into its history.
func (e *engine) revive(m *api.MemberUpdateStatus) {
	if m.Status.State == api.StateFailed || m.Status.State == api.StateCompleted {
		e.remember(m, m.Status.State, m.Reason, m.Message)
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
func (e *engine) reviveSkipped() {
	e.reviveWhere(func(s *api.StageStatus, m *api.MemberUpdateStatus) bool {
		return s.Status.State != api.StateCompleted && m.SkippedBy == api.SkippedByUser
	})
}

// reviveWhere revives members and opens again whatever stands around them; it returns how many.
func (e *engine) reviveWhere(chosen func(*api.StageStatus, *api.MemberUpdateStatus) bool) int {
	count := 0
	for i := range e.st.Stages {
		was := e.st.Stages[i]
		here := 0
		for j := range was.Groups {
			inGroup := 0
			for k := range was.Groups[j].Members {
				if chosen(&was, &e.st.Stages[i].Groups[j].Members[k]) {
					e.revive(&e.own(i).Groups[j].Members[k])
					inGroup++
				}
			}
			if inGroup > 0 {
				g := &e.st.Stages[i].Groups[j]
				g.SkippedByUser = false
				reopenGates(g.BeforeGates)
				reopenGates(g.AfterGates)
				here += inGroup
			}
		}
		if here > 0 {
			reopenStage(&e.st.Stages[i])
		}
		count += here
	}
	return count
}

// retreat takes back the arrival at stages behind the current one, which were reached before an earlier
// stage was opened again. What was approved stays approved.
func (e *engine) retreat() {
	first := e.current()
	for i := first + 1; first >= 0 && i < len(e.st.Stages); i++ {
		if s := &e.st.Stages[i]; s.Status.State.Done() || s.Status.StartTime.IsZero() {
			continue
		}
		s := e.own(i)
		s.Status = api.UpdateStatus{State: api.StateNotStarted}
		s.GroupsDone = metav1.Time{}
		if s.Wait != nil && s.Wait.Status.State == api.StateRunning {
			s.Wait.Status, s.Wait.Deadline = api.UpdateStatus{State: api.StateNotStarted}, metav1.Time{}
		}
		eachGate(s, func(g *api.GateStatus, _ gateScope) {
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
