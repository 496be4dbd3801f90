package upgrade

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
)

// rerun opens a finished run for chosen members, with the versions and images it was bound to.
func (e *engine) rerun(ask *api.RunRequest) *api.Refusal {
	if refusal := checkSets(ask.Members); refusal != nil {
		return refusal
	}
	switch e.st.Status.State {
	case api.StateStopped:
		_, refusal := e.startRun(&api.RunRequest{IncludeSkipped: true, IgnoreMaintenanceWindows: ask.IgnoreMaintenanceWindows, Reason: ask.Reason})
		return refusal
	case api.StateFailed, api.StateCompleted, api.StateSkipped:
	case api.StateNotStarted:
		return e.wrongState("it has to be started first", "start")
	default:
		return e.wrongState("it has to be stopped first", "stop")
	}
	if ask.IgnoreMaintenanceWindows && ask.Reason == "" {
		return &api.Refusal{Code: api.CodeInvalidArgument, Message: "ignoring maintenance windows needs a reason", Next: "--reason TEXT"}
	}
	failedRun := e.st.Status.State == api.StateFailed
	if failedRun {
		e.resume(false)
	}
	chosen := e.reviveWhere(func(_ *api.StageStatus, m *api.MemberUpdateStatus) bool { return inSets(m, ask.Members) })
	if chosen == 0 && !failedRun {
		return &api.Refusal{
			Code:    api.CodeInvalidArgument,
			Message: fmt.Sprintf("run %s has no member in %s", e.st.Run, strings.Join(ask.Members, ", ")),
			Next:    "flotilla run status " + e.st.Run,
		}
	}
	e.enter(&e.st.Status, api.StateRunning)
	e.ignoreWindows(ask)
	return nil
}

func checkSets(sets []string) *api.Refusal {
	known := []string{api.RerunFailed, api.RerunSkippedByUser, api.RerunSkippedBySystem, api.RerunAll}
	for _, set := range sets {
		if !slices.Contains(known, set) {
			return &api.Refusal{Code: api.CodeInvalidArgument, Message: fmt.Sprintf("found set %q, expected some of %s", set, strings.Join(known, ", "))}
		}
	}
	if len(sets) == 0 {
		return &api.Refusal{Code: api.CodeInvalidArgument, Message: "no members chosen, expected some of " + strings.Join(known, ", ")}
	}
	return nil
}

func inSets(m *api.MemberUpdateStatus, sets []string) bool {
	for _, set := range sets {
		switch {
		case set == api.RerunAll,
			set == api.RerunFailed && m.Status.State == api.StateFailed,
			set == api.RerunSkippedByUser && m.SkippedBy == api.SkippedByUser,
			set == api.RerunSkippedBySystem && m.SkippedBy == api.SkippedBySystem:
			return true
		}
	}
	return false
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
	e.retreat()
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
