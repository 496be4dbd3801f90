package upgrade

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

func (e *engine) tallyOf(g *api.GroupStatus) tally {
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
			if taken(&e.st, m.Name) {
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
func (e *engine) derive() {
	e.st.FailureCount, e.st.Finished = 0, 0
	for i := range e.st.Stages {
		s := &e.st.Stages[i]
		if e.owned[i] {
			e.deriveStage(s)
		}
		e.st.FailureCount += s.FailureCount
		eachMember(s, func(m *api.MemberUpdateStatus) {
			if m.Status.State.Terminal() {
				e.st.Finished++
			}
		})
	}
	if !e.st.Status.State.Active() {
		e.st.Status.Error = e.runError()
		return
	}
	e.st.Status.Error = nil
	state := api.StateRunning
	if i := e.current(); i >= 0 && e.st.Stages[i].Status.State == api.StatePending {
		state = api.StatePending
	}
	e.enter(&e.st.Status, state)
}

func (e *engine) deriveStage(s *api.StageStatus) {
	s.FailureCount = 0
	for j := range s.Groups {
		g := &s.Groups[j]
		t := e.tallyOf(g)
		g.FailureCount = t.failed
		s.FailureCount += t.failed
		e.enter(&g.Status, e.groupState(g, &t, !s.Status.StartTime.IsZero()))
		g.Status.Error = nil
		if g.Status.State == api.StateFailed {
			g.Status.Error = failures("group "+g.Name, t.failed, t.total, g.MaxAllowedFailures, failedMembers(g))
		}
	}
	e.enterStage(s, e.stageState(s))
}

// away reports whether a narrowed run leaves a stage as it is.
func (e *engine) away(s *api.StageStatus) bool {
	if !e.narrowed() {
		return false
	}
	i := e.current()
	return i < 0 || e.st.Stages[i].Name != s.Name
}

// enterStage sets a stage's state. Its start time is when the stage was reached, which advance sets.
func (e *engine) enterStage(s *api.StageStatus, state api.UpdateState) {
	reached := s.Status.StartTime
	e.enter(&s.Status, state)
	s.Status.StartTime = reached
	s.Status.Error = nil
	if state != api.StateFailed {
		return
	}
	if !stageExceeded(s) {
		s.Status.Error = e.runBlame()
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

// groupState follows the table of updates.md 2.2; the first rule that fits wins. Reached says that the
// run came to the stage of the group.
func (e *engine) groupState(g *api.GroupStatus, t *tally, reached bool) api.UpdateState {
	switch {
	case t.total == 0, g.SkippedByUser && t.running+t.completed+t.failed == 0:
		return api.StateSkipped
	case t.failed > g.MaxAllowedFailures && t.running > 0:
		return api.StateStopping
	case t.failed > g.MaxAllowedFailures:
		return api.StateFailed
	case e.halted() || aside(&e.st, g):
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

func (e *engine) halted() bool {
	state := e.st.Status.State
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

// stageState follows updates.md 2.3. What is behind us stays so.
func (e *engine) stageState(s *api.StageStatus) api.UpdateState {
	if s.Status.State.Done() {
		return s.Status.State
	}
	if s.SkippedByUser && allSkipped(s) {
		return api.StateSkipped
	}
	if s.Status.StartTime.IsZero() {
		return api.StateNotStarted
	}
	if !e.st.Status.State.Active() || e.away(s) {
		return e.haltedStage(s)
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
func (e *engine) haltedStage(s *api.StageStatus) api.UpdateState {
	switch {
	case anyRunning(s):
		return api.StateStopping
	case stageExceeded(s), e.runExceeded():
		return api.StateFailed
	default:
		return api.StateStopped
	}
}

func anyRunning(s *api.StageStatus) bool {
	running := false
	eachMember(s, func(m *api.MemberUpdateStatus) { running = running || m.Status.State == api.StateRunning })
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
func (e *engine) runExceeded() bool {
	if e.st.Policy.MaxAllowedFailures == "" {
		return false
	}
	sum := 0
	for i := range e.st.Stages {
		for j := range e.st.Stages[i].Groups {
			sum += failed(&e.st.Stages[i].Groups[j])
		}
	}
	return sum > allowedFailures(e.st.Policy.MaxAllowedFailures, e.st.Members)
}

// exceeded reports whether a threshold that stops the run is passed.
func (e *engine) exceeded() bool {
	if e.narrowed() {
		return e.exceededAnywhere() || e.runExceeded()
	}
	i := e.current()
	return i >= 0 && stageExceeded(&e.st.Stages[i]) || e.runExceeded()
}

// giveUp stops everything because a threshold is passed: what runs may finish.
func (e *engine) giveUp() { e.halt(api.StateFailed) }

// halt ends a run in a state, or in Stopping while members run. Members that are Pending become
// Stopped at once (A01).
func (e *engine) halt(state api.UpdateState) {
	running := false
	if i := e.current(); i >= 0 {
		s := e.own(i)
		stopPending(s)
		running = anyRunning(s)
	}
	if running {
		state = api.StateStopping
	}
	e.enter(&e.st.Status, state)
}

// stopPending stops the members that wait. In a run that ends they wait for nothing any more.
func stopPending(s *api.StageStatus) {
	eachMember(s, func(m *api.MemberUpdateStatus) {
		if m.Status.State == api.StatePending {
			m.Status.State = api.StateStopped
			m.PendingSince, m.NextEligibleTime = metav1.Time{}, metav1.Time{}
			m.Reason, m.Message = "", "stopped while it waited: "+m.Message
		}
	})
}

// drain ends a run that is stopping once nothing runs any more.
func (e *engine) drain() {
	if i := e.current(); i >= 0 {
		s := e.own(i)
		stopPending(s)
		if anyRunning(s) {
			return
		}
		e.markDone(s)
	}
	if e.exceeded() {
		e.enter(&e.st.Status, api.StateFailed)
		return
	}
	e.enter(&e.st.Status, api.StateStopped)
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
		Message: fmt.Sprintf("%s: %d of %d members failed, %d allowed: %s", what, failed, total, allowed, phrase.Names(names, shownNames)),
	}
}

// runBlame is the summary of a run that passed its own threshold.
func (e *engine) runBlame() *api.UpdateError {
	var blamed []api.UpdateError
	for i := range e.st.Stages {
		for j := range e.st.Stages[i].Groups {
			blamed = append(blamed, failedMembers(&e.st.Stages[i].Groups[j])...)
		}
	}
	return failures("run "+e.st.Run, len(blamed), e.st.Members, allowedFailures(e.st.Policy.MaxAllowedFailures, e.st.Members), blamed)
}

// runError is the summary of a run that failed, or is about to.
func (e *engine) runError() *api.UpdateError {
	if e.st.Status.State != api.StateFailed {
		return nil
	}
	i := e.current()
	if i >= 0 && e.st.Stages[i].Status.Error != nil {
		return e.st.Stages[i].Status.Error
	}
	return e.st.Status.Error
}
