package upgrade

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
)

// tick brings an active run as far as it goes at this instant: stage after stage.
func (e *engine) tick() {
	for e.advance() {
	}
}

// advance works on the current stage once and reports whether it is behind us now.
func (e *engine) advance() bool {
	switch state := e.st.Status.State; {
	case state == api.StateStopping:
		e.drain()
		return false
	case !state.Active():
		return false
	case e.exceeded():
		e.giveUp()
		return false
	}
	i := e.current()
	if i < 0 && e.narrowed() {
		return e.widen()
	}
	if i < 0 {
		e.end()
		return false
	}
	s := e.own(i)
	if s.Status.StartTime.IsZero() && allSkipped(s) {
		e.skipRest(s)
		return true
	}
	if s.Status.StartTime.IsZero() {
		s.Status.StartTime = e.stamp()
	}
	e.dropRemoved(s)
	if !e.passBefore(s) {
		return false
	}
	e.dispatch(s)
	if e.exceeded() {
		e.giveUp()
		return false
	}
	e.passGroups(s)
	return e.passAfter(i, s)
}

// end finishes a run whose stages are all behind it.
func (e *engine) end() {
	state := api.StateSkipped
	for i := range e.st.Stages {
		if e.st.Stages[i].Status.State != api.StateSkipped {
			state = api.StateCompleted
		}
	}
	e.enter(&e.st.Status, state)
}

// allSkipped reports whether a stage has no member that was not skipped.
func allSkipped(s *api.StageStatus) bool {
	for j := range s.Groups {
		if !groupSkipped(&s.Groups[j]) {
			return false
		}
	}
	return true
}

func groupSkipped(g *api.GroupStatus) bool {
	for k := range g.Members {
		if g.Members[k].Status.State != api.StateSkipped {
			return false
		}
	}
	return true
}

// skipRest makes a stage of skipped members Skipped, with its gates and its wait.
func (e *engine) skipRest(s *api.StageStatus) {
	e.skipGates(s.BeforeGates)
	e.skipGates(s.AfterGates)
	for j := range s.Groups {
		e.skipGates(s.Groups[j].BeforeGates)
		e.skipGates(s.Groups[j].AfterGates)
	}
	if s.Wait != nil && !s.Wait.Status.State.Done() {
		e.enter(&s.Wait.Status, api.StateSkipped)
	}
	e.enter(&s.Status, api.StateSkipped)
}

func (e *engine) skipGates(gates []api.GateStatus) {
	for k := range gates {
		if !gates[k].Status.State.Done() {
			e.enter(&gates[k].Status, api.StateSkipped)
		}
	}
}

// dropRemoved skips the members that left the fleet, or are leaving it, and do not run.
func (e *engine) dropRemoved(s *api.StageStatus) {
	eachMember(s, func(m *api.MemberUpdateStatus) {
		if m.Status.State != api.StateNotStarted && m.Status.State != api.StatePending {
			return
		}
		if v := removed(e.view.Fleet.members[m.Name], m.ClusterResourceID); v != nil {
			e.settleMember(m, *v)
		}
	})
}

// passBefore reaches the gates before a stage and its groups, and reports whether the stage is open.
func (e *engine) passBefore(s *api.StageStatus) bool {
	e.reach(s.BeforeGates, gateScope{stage: s.Name, timing: api.TimingBefore})
	if !gatesDone(s.BeforeGates) {
		return false
	}
	for j := range s.Groups {
		g := &s.Groups[j]
		if aside(&e.st, g) {
			continue
		}
		if groupSkipped(g) && !anyReached(g.BeforeGates) {
			e.skipGates(g.BeforeGates)
			continue
		}
		e.reach(g.BeforeGates, gateScope{stage: s.Name, group: g.Name, timing: api.TimingBefore})
	}
	return true
}

func anyReached(gates []api.GateStatus) bool {
	for k := range gates {
		if gates[k].Status.State != api.StateNotStarted {
			return true
		}
	}
	return false
}

// passGroups reaches the gates after each group whose members are all terminal.
func (e *engine) passGroups(s *api.StageStatus) {
	for j := range s.Groups {
		g := &s.Groups[j]
		if !membersTerminal(g) || !gatesDone(g.BeforeGates) {
			continue
		}
		if groupSkipped(g) {
			e.skipGates(g.AfterGates)
			continue
		}
		e.reach(g.AfterGates, gateScope{stage: s.Name, group: g.Name, timing: api.TimingAfter})
	}
}

func membersTerminal(g *api.GroupStatus) bool {
	for k := range g.Members {
		if !g.Members[k].Status.State.Terminal() {
			return false
		}
	}
	return true
}

// groupsDone reports whether all groups of a stage are behind it.
func groupsDone(s *api.StageStatus) bool {
	for j := range s.Groups {
		g := &s.Groups[j]
		if !membersTerminal(g) || !gatesDone(g.BeforeGates) || !gatesDone(g.AfterGates) {
			return false
		}
	}
	return true
}

// passAfter runs the wait and the gates after a stage, which start together, and reports whether the
// stage is behind us.
func (e *engine) passAfter(i int, s *api.StageStatus) bool {
	e.markDone(s)
	if s.GroupsDone.IsZero() {
		return false
	}
	if allSkipped(s) {
		e.skipRest(s)
		return true
	}
	e.passWait(i, s)
	e.reach(s.AfterGates, gateScope{stage: s.Name, timing: api.TimingAfter})
	if s.Wait != nil && !s.Wait.Status.State.Done() || !gatesDone(s.AfterGates) {
		return false
	}
	e.enter(&s.Status, api.StateCompleted)
	return true
}

// markDone keeps the instant at which the last group of a stage became terminal. When groups were
// opened again, the wait begins again too.
func (e *engine) markDone(s *api.StageStatus) {
	done := groupsDone(s)
	switch {
	case done && s.GroupsDone.IsZero():
		s.GroupsDone = e.stamp()
	case !done && !s.GroupsDone.IsZero():
		s.GroupsDone = metav1.Time{}
		if s.Wait != nil && s.Wait.Status.State == api.StateRunning {
			s.Wait.Status = api.UpdateStatus{State: api.StateNotStarted}
			s.Wait.Deadline = metav1.Time{}
		}
	}
}

func (e *engine) passWait(i int, s *api.StageStatus) {
	w := s.Wait
	if w == nil || w.Status.State.Done() {
		return
	}
	last := i == len(e.st.Stages)-1
	switch {
	case w.SkipRequested, last && !api.On(e.st.Policy.FinalStageWait, true):
		e.enter(&w.Status, api.StateSkipped)
		return
	case w.Status.State == api.StateNotStarted:
		w.Deadline = metav1.NewTime(s.GroupsDone.Add(time.Duration(w.WaitDurationInSeconds) * time.Second))
		e.enter(&w.Status, api.StateRunning)
	}
	if !e.now.Before(w.Deadline.Time) {
		e.enter(&w.Status, api.StateCompleted)
	}
}
