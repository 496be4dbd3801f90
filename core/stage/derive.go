package stage

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/phrase"
)

// tally counts the members of a group by state.
type tally struct {
	total, running, pending, failed, completed, notStarted int
	skipped, touched, attempted                            int
}

func (r *Run) tallyOf(g *api.GroupStatus) tally {
	t := tally{total: len(g.Members)}
	for k := range g.Members {
		m := &g.Members[k]
		switch m.Status.State {
		case api.StateRunning:
			t.running++
		case api.StatePending:
			t.pending++
		case api.StateFailed:
			t.failed++
		case api.StateCompleted:
			t.completed++
		case api.StateSkipped:
			t.skipped++
		case api.StateNotStarted:
			if taken(&r.Status, m.Name) {
				t.notStarted++
			}
		}
		if m.Attempt > 0 {
			t.attempted++
		}
		if touched(m) {
			t.touched++
		}
	}
	return t
}

// touched reports whether a run ever came to a member. One that a user skipped does not count, one
// that the system skipped does (A09).
func touched(m *api.MemberUpdateStatus) bool {
	switch m.Status.State {
	case api.StateNotStarted:
		return m.Attempt > 0
	case api.StateSkipped:
		return m.SkippedBy == api.SkippedBySystem
	default:
		return true
	}
}

func (t *tally) terminal() bool { return t.failed+t.completed+t.skipped == t.total }

// derive brings the states of groups, stages and the run in line with their members.
func (r *Run) derive() {
	r.Status.FailureCount, r.Status.Finished = 0, 0
	for i := range r.Status.Stages {
		s := &r.Status.Stages[i]
		if r.owned[i] {
			r.deriveStage(s)
		}
		r.Status.FailureCount += s.FailureCount
		EachMember(s, func(m *api.MemberUpdateStatus) {
			if m.Status.State.Terminal() {
				r.Status.Finished++
			}
		})
	}
	if !r.Status.Status.State.Active() {
		r.Status.Status.Error = r.runError()
		return
	}
	r.Status.Status.Error = nil
	state := api.StateRunning
	if i := r.current(); i >= 0 && r.Status.Stages[i].Status.State == api.StatePending {
		state = api.StatePending
	}
	r.Enter(&r.Status.Status, state)
}

func (r *Run) deriveStage(s *api.StageStatus) {
	s.FailureCount = 0
	for j := range s.Groups {
		g := &s.Groups[j]
		t := r.tallyOf(g)
		g.FailureCount = t.failed
		s.FailureCount += t.failed
		r.Enter(&g.Status, r.groupState(g, &t, !s.Status.StartTime.IsZero()))
		g.Status.Error = nil
		if g.Status.State == api.StateFailed {
			g.Status.Error = failures("group "+g.Name, t.failed, t.total, g.MaxAllowedFailures, failedMembers(g))
		}
	}
	r.enterStage(s, r.stageState(s))
}

// away reports whether a narrowed run leaves a stage as it is.
func (r *Run) away(s *api.StageStatus) bool {
	if !r.narrowed() {
		return false
	}
	i := r.current()
	return i < 0 || r.Status.Stages[i].Name != s.Name
}

// enterStage sets a stage's state. Its start time is when the stage was reached, which advance sets.
func (r *Run) enterStage(s *api.StageStatus, state api.UpdateState) {
	reached := s.Status.StartTime
	r.Enter(&s.Status, state)
	s.Status.StartTime = reached
	s.Status.Error = nil
	if state != api.StateFailed {
		return
	}
	if !stageExceeded(s) {
		s.Status.Error = r.runBlame()
		return
	}
	var blamed []api.UpdateError
	total := 0
	for j := range s.Groups {
		blamed = append(blamed, failedMembers(&s.Groups[j])...)
		total += len(s.Groups[j].Members)
	}
	s.Status.Error = failures("stage "+s.Name, s.FailureCount, total, s.MaxAllowedFailures, blamed)
}

// groupState is the first state that fits. Reached says that the run came to the stage of the group.
func (r *Run) groupState(g *api.GroupStatus, t *tally, reached bool) api.UpdateState {
	switch {
	case t.total == 0, g.SkippedByUser && t.running+t.completed+t.failed == 0:
		return api.StateSkipped
	case t.failed > g.MaxAllowedFailures && t.running > 0:
		return api.StateStopping
	case t.failed > g.MaxAllowedFailures:
		return api.StateFailed
	case r.halted() || aside(&r.Status, g):
		return haltedGroup(g, t)
	case t.running > 0:
		return api.StateRunning
	case anyPending(g.BeforeGates):
		return api.StatePending
	case t.terminal():
		return endState(g, t)
	case t.pending > 0 && t.notStarted == 0:
		return api.StatePending
	case t.attempted > 0 && reached:
		return api.StateRunning
	default:
		return api.StateNotStarted
	}
}

func (r *Run) halted() bool {
	state := r.Status.Status.State
	return state == api.StateStopping || state == api.StateStopped || state == api.StateFailed
}

// haltedGroup is the state of a group in a run that is stopping, stopped or failed.
func haltedGroup(g *api.GroupStatus, t *tally) api.UpdateState {
	switch {
	case t.running > 0:
		return api.StateStopping
	case t.terminal():
		return endState(g, t)
	case t.touched == 0:
		return api.StateNotStarted
	default:
		return api.StateStopped
	}
}

func endState(g *api.GroupStatus, t *tally) api.UpdateState {
	switch {
	case t.skipped == t.total:
		return api.StateSkipped
	case anyPending(g.AfterGates):
		return api.StatePending
	default:
		return api.StateCompleted
	}
}

func anyPending(gates []api.GateStatus) bool {
	for k := range gates {
		if gates[k].Status.State == api.StatePending {
			return true
		}
	}
	return false
}

// stageState is what the groups, the gates and the wait of a stage come to. What is behind us stays so.
func (r *Run) stageState(s *api.StageStatus) api.UpdateState {
	if s.Status.State.Done() {
		return s.Status.State
	}
	if s.SkippedByUser && allSkipped(s) {
		return api.StateSkipped
	}
	if s.Status.StartTime.IsZero() {
		return api.StateNotStarted
	}
	if !r.Status.Status.State.Active() || r.away(s) {
		return r.haltedStage(s)
	}
	if !gatesDone(s.BeforeGates) {
		return api.StatePending
	}
	if !s.GroupsDone.IsZero() {
		if s.Wait != nil && s.Wait.Status.State == api.StateRunning {
			return api.StateRunning
		}
		return api.StatePending
	}
	pending := false
	for j := range s.Groups {
		switch s.Groups[j].Status.State {
		case api.StateRunning:
			return api.StateRunning
		case api.StatePending:
			pending = true
		}
	}
	if pending {
		return api.StatePending
	}
	return api.StateRunning
}

// haltedStage is the state of a stage that was reached in a run that is stopping, stopped or failed.
func (r *Run) haltedStage(s *api.StageStatus) api.UpdateState {
	switch {
	case anyRunning(s):
		return api.StateStopping
	case stageExceeded(s), r.runExceeded():
		return api.StateFailed
	default:
		return api.StateStopped
	}
}

func anyRunning(s *api.StageStatus) bool {
	running := false
	EachMember(s, func(m *api.MemberUpdateStatus) { running = running || m.Status.State == api.StateRunning })
	return running
}

// failed counts the Failed members of a group.
func failed(g *api.GroupStatus) int {
	n := 0
	for k := range g.Members {
		if g.Members[k].Status.State == api.StateFailed {
			n++
		}
	}
	return n
}

// stageExceeded reports whether more members of a stage, or of one of its groups, failed than may.
func stageExceeded(s *api.StageStatus) bool {
	sum := 0
	for j := range s.Groups {
		n := failed(&s.Groups[j])
		if n > s.Groups[j].MaxAllowedFailures {
			return true
		}
		sum += n
	}
	return sum > s.MaxAllowedFailures
}

// runExceeded reports whether more members failed than the run's own policy allows.
func (r *Run) runExceeded() bool {
	if r.Status.Policy.MaxAllowedFailures == "" {
		return false
	}
	sum := 0
	for i := range r.Status.Stages {
		for j := range r.Status.Stages[i].Groups {
			sum += failed(&r.Status.Stages[i].Groups[j])
		}
	}
	return sum > allowedFailures(r.Status.Policy.MaxAllowedFailures, r.Status.Members)
}

// exceeded reports whether a threshold that stops the run is passed.
func (r *Run) exceeded() bool {
	if r.narrowed() {
		return r.exceededAnywhere() || r.runExceeded()
	}
	i := r.current()
	return i >= 0 && stageExceeded(&r.Status.Stages[i]) || r.runExceeded()
}

// giveUp stops everything because a threshold is passed: what runs may finish.
func (r *Run) giveUp() { r.halt(api.StateFailed) }

// halt ends a run in a state, or in Stopping while members run. Members that are Pending become
// Stopped at once (A01).
func (r *Run) halt(state api.UpdateState) {
	running := false
	if i := r.current(); i >= 0 {
		s := r.Own(i)
		stopPending(s)
		running = anyRunning(s)
	}
	if running {
		state = api.StateStopping
	}
	r.Enter(&r.Status.Status, state)
}

// over reports whether the run cannot go on, and keeps why.
func (r *Run) over() bool {
	refusal := r.work.Over()
	if refusal == nil {
		return false
	}
	r.Status.Status.Error = &api.UpdateError{Code: refusal.Code, Message: refusal.Message}
	return true
}

// stopPending stops the members that wait. In a run that ends they wait for nothing any more.
func stopPending(s *api.StageStatus) {
	EachMember(s, func(m *api.MemberUpdateStatus) {
		if m.Status.State == api.StatePending {
			m.Status.State = api.StateStopped
			m.PendingSince, m.NextEligibleTime = metav1.Time{}, metav1.Time{}
			m.Reason, m.Message = "", "stopped while it waited: "+m.Message
		}
	})
}

// drain ends a run that is stopping once nothing runs any more.
func (r *Run) drain() {
	if i := r.current(); i >= 0 {
		s := r.Own(i)
		stopPending(s)
		if anyRunning(s) {
			return
		}
		r.markDone(s)
	}
	if r.exceeded() || r.over() {
		r.Enter(&r.Status.Status, api.StateFailed)
		return
	}
	r.Enter(&r.Status.Status, api.StateStopped)
}

func failedMembers(g *api.GroupStatus) []api.UpdateError {
	var out []api.UpdateError
	for k := range g.Members {
		if m := &g.Members[k]; m.Status.State == api.StateFailed {
			out = append(out, api.UpdateError{Code: m.Reason, Message: m.Message, Target: m.Name})
		}
	}
	return out
}

// failures summarises who is to blame; the first ten are named.
func failures(what string, failed, total, allowed int, blamed []api.UpdateError) *api.UpdateError {
	names := make([]string, len(blamed))
	for i := range blamed {
		names[i] = blamed[i].Target + " (" + blamed[i].Code + ")"
	}
	return &api.UpdateError{
		Code: api.ReasonThresholdExceeded, Details: blamed[:min(len(blamed), 10)],
		Message: fmt.Sprintf("%s: %d of %d members failed, %d allowed: %s", what, failed, total, allowed, phrase.Enumerate(names)),
	}
}

// runBlame is the summary of a run that passed its own threshold.
func (r *Run) runBlame() *api.UpdateError {
	var blamed []api.UpdateError
	for i := range r.Status.Stages {
		for j := range r.Status.Stages[i].Groups {
			blamed = append(blamed, failedMembers(&r.Status.Stages[i].Groups[j])...)
		}
	}
	return failures("run "+r.Status.Run, len(blamed), r.Status.Members, allowedFailures(r.Status.Policy.MaxAllowedFailures, r.Status.Members), blamed)
}

// runError is the summary of a run that failed, or is about to.
func (r *Run) runError() *api.UpdateError {
	if r.Status.Status.State != api.StateFailed {
		return nil
	}
	i := r.current()
	if i >= 0 && r.Status.Stages[i].Status.Error != nil {
		return r.Status.Stages[i].Status.Error
	}
	return r.Status.Status.Error
}
