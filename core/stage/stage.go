package stage

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
)

// tick brings an active run as far as it goes at this instant: stage after stage.
func (r *Run) tick() {
	for r.advance() {
	}
}

// advance works on the current stage once and reports whether it is behind us now.
func (r *Run) advance() bool {
	switch state := r.Status.Status.State; {
	case state == api.StateStopping:
		r.drain()
		return false
	case !state.Active():
		return false
	case r.exceeded():
		r.giveUp()
		return false
	case r.over():
		r.halt(api.StateFailed)
		return false
	}
	i := r.current()
	if i < 0 && r.narrowed() {
		return r.widen()
	}
	if i < 0 {
		r.end()
		return false
	}
	s := r.Own(i)
	if s.Status.StartTime.IsZero() && allSkipped(s) {
		r.skipRest(s)
		return true
	}
	if s.Status.StartTime.IsZero() {
		s.Status.StartTime = r.Stamp()
	}
	r.dropRemoved(s)
	if !r.passBefore(s) {
		return false
	}
	r.dispatch(s)
	if r.exceeded() {
		r.giveUp()
		return false
	}
	r.passGroups(s)
	return r.passAfter(i, s)
}

// end finishes a run whose stages are all behind it.
func (r *Run) end() {
	if failure := r.work.Ended(); failure != nil {
		r.Status.Status.Error = failure
		r.Enter(&r.Status.Status, api.StateFailed)
		return
	}
	state := api.StateSkipped
	for i := range r.Status.Stages {
		if r.Status.Stages[i].Status.State != api.StateSkipped {
			state = api.StateCompleted
		}
	}
	r.Enter(&r.Status.Status, state)
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
func (r *Run) skipRest(s *api.StageStatus) {
	r.skipGates(s.BeforeGates)
	r.skipGates(s.AfterGates)
	for j := range s.Groups {
		r.skipGates(s.Groups[j].BeforeGates)
		r.skipGates(s.Groups[j].AfterGates)
	}
	if s.Wait != nil && !s.Wait.Status.State.Done() {
		r.Enter(&s.Wait.Status, api.StateSkipped)
	}
	r.Enter(&s.Status, api.StateSkipped)
}

func (r *Run) skipGates(gates []api.GateStatus) {
	for k := range gates {
		if !gates[k].Status.State.Done() {
			r.Enter(&gates[k].Status, api.StateSkipped)
		}
	}
}

// dropRemoved skips the members that left the fleet, or are leaving it, and do not run.
func (r *Run) dropRemoved(s *api.StageStatus) {
	EachMember(s, func(m *api.MemberUpdateStatus) {
		if m.Status.State != api.StateNotStarted && m.Status.State != api.StatePending {
			return
		}
		if v := r.work.Removed(m); v != nil {
			r.settleMember(m, *v)
		}
	})
}

// passBefore reaches the gates before a stage and its groups, and reports whether the stage is open.
func (r *Run) passBefore(s *api.StageStatus) bool {
	r.reach(s.BeforeGates, GateScope{stage: s.Name, timing: api.TimingBefore})
	if !gatesDone(s.BeforeGates) {
		return false
	}
	for j := range s.Groups {
		g := &s.Groups[j]
		if aside(&r.Status, g) {
			continue
		}
		if groupSkipped(g) && !anyReached(g.BeforeGates) {
			r.skipGates(g.BeforeGates)
			continue
		}
		r.reach(g.BeforeGates, GateScope{stage: s.Name, group: g.Name, timing: api.TimingBefore})
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
func (r *Run) passGroups(s *api.StageStatus) {
	for j := range s.Groups {
		g := &s.Groups[j]
		if !membersTerminal(g) || !gatesDone(g.BeforeGates) {
			continue
		}
		if groupSkipped(g) {
			r.skipGates(g.AfterGates)
			continue
		}
		r.reach(g.AfterGates, GateScope{stage: s.Name, group: g.Name, timing: api.TimingAfter})
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
func (r *Run) passAfter(i int, s *api.StageStatus) bool {
	r.markDone(s)
	if s.GroupsDone.IsZero() {
		return false
	}
	if allSkipped(s) {
		r.skipRest(s)
		return true
	}
	r.passWait(i, s)
	r.reach(s.AfterGates, GateScope{stage: s.Name, timing: api.TimingAfter})
	if s.Wait != nil && !s.Wait.Status.State.Done() || !gatesDone(s.AfterGates) {
		return false
	}
	r.Enter(&s.Status, api.StateCompleted)
	return true
}

// markDone keeps the instant at which the last group of a stage became terminal. When groups were
// opened again, the wait begins again too.
func (r *Run) markDone(s *api.StageStatus) {
	done := groupsDone(s)
	switch {
	case done && s.GroupsDone.IsZero():
		s.GroupsDone = r.Stamp()
	case !done && !s.GroupsDone.IsZero():
		s.GroupsDone = metav1.Time{}
		if s.Wait != nil && s.Wait.Status.State == api.StateRunning {
			s.Wait.Status = api.UpdateStatus{State: api.StateNotStarted}
			s.Wait.Deadline = metav1.Time{}
		}
	}
}

func (r *Run) passWait(i int, s *api.StageStatus) {
	w := s.Wait
	if w == nil || w.Status.State.Done() {
		return
	}
	last := i == len(r.Status.Stages)-1
	switch {
	case w.SkipRequested, last && !api.On(r.Status.Policy.FinalStageWait, true):
		r.Enter(&w.Status, api.StateSkipped)
		return
	case w.Status.State == api.StateNotStarted:
		w.Deadline = metav1.NewTime(s.GroupsDone.Add(time.Duration(w.WaitDurationInSeconds) * time.Second))
		r.Enter(&w.Status, api.StateRunning)
	}
	if !r.Now.Before(w.Deadline.Time) {
		r.Enter(&w.Status, api.StateCompleted)
	}
}
