package stage

import (
	"fmt"
	"strings"

	"flotilla/core/api"
)

// Explained returns a status in which every member carries a reason and a message. The record leaves
// them out where they follow from the tree: before a member's turn, while it runs, when it is done.
func Explained(status *api.UpdateRunStatus) api.UpdateRunStatus {
	r := New(status, nil, status.Status.StartTime.Time)
	current := CurrentStage(status)
	for i := range r.Status.Stages {
		s := r.Own(i)
		for j := range s.Groups {
			for k := range s.Groups[j].Members {
				explain(status, s, &s.Groups[j], &s.Groups[j].Members[k], current < 0 || i <= current)
			}
		}
	}
	return r.Status
}

func explain(status *api.UpdateRunStatus, s *api.StageStatus, g *api.GroupStatus, m *api.MemberUpdateStatus, reached bool) {
	fill := func(reason, format string, args ...any) {
		if m.Reason == "" {
			m.Reason = reason
		}
		if m.Message == "" {
			m.Message = fmt.Sprintf(format, args...)
		}
	}
	if known := m.Status.Error; known != nil && known.Message == "" {
		explained := *known
		explained.Message = m.Message
		m.Status.Error = &explained
	}
	switch m.Status.State {
	case api.StateRunning:
		fill(api.ReasonUpgradeInProgress, "attempt %d", m.Attempt)
	case api.StateCompleted:
		fill(api.ReasonUpgradeSucceeded, "upgraded")
	case api.StateStopped:
		fill(api.ReasonRunStopped, "the run ended before its turn")
	case api.StateNotStarted:
		reason, message := turn(status, s, g, m, reached)
		fill(reason, "%s", message)
	}
}

// turn says what a member that is NotStarted waits for.
func turn(status *api.UpdateRunStatus, s *api.StageStatus, g *api.GroupStatus, m *api.MemberUpdateStatus, reached bool) (reason, message string) {
	switch state := status.Status.State; {
	case state == api.StateNotStarted && status.BlockedBy != "":
		return api.ReasonNotReached, "the run waits for run " + status.BlockedBy
	case state == api.StateNotStarted:
		return api.ReasonNotReached, "the run was not started"
	case !state.Active():
		return api.ReasonRunStopped, fmt.Sprintf("the run is %s", state)
	case !taken(status, m.Name):
		return api.ReasonRunStopped, "not among the members that were taken up again; it waits for the next start of the run"
	case !reached:
		return api.ReasonNotReached, "waits for the stages before " + s.Name
	case anyPending(s.BeforeGates):
		return api.ReasonWaitsForGate, "waits for the gate before stage " + s.Name + waitingGate(s.BeforeGates)
	case anyPending(g.BeforeGates):
		return api.ReasonWaitsForGate, "waits for the gate before group " + g.Name + waitingGate(g.BeforeGates)
	default:
		return api.ReasonWaitsForSlot, fmt.Sprintf("waits for a free slot; group %s runs %d at once, stage %s %d", g.Name, g.MaxConcurrency, s.Name, s.MaxConcurrency)
	}
}

func waitingGate(gates []api.GateStatus) string {
	for k := range gates {
		if gates[k].Status.State == api.StatePending {
			return ": " + gateWaits(&gates[k])
		}
	}
	return ""
}

// WaitsFor lists, in document order, what an active run waits for besides running members: gates,
// waits, Pending members, and running ones that are stuck or whose agents are not heard of, one a line. A run that is
// stopping waits for the latter alone; others wait for nothing.
func WaitsFor(status *api.UpdateRunStatus) []string {
	stopping := status.Status.State == api.StateStopping
	if !status.Status.State.Active() && !stopping {
		return nil
	}
	i := CurrentStage(status)
	if i < 0 {
		return nil
	}
	s := &status.Stages[i]
	var out []string
	EachGate(s, func(g *api.GateStatus, at GateScope) {
		if g.Status.State == api.StatePending && !stopping {
			out = append(out, "gate "+at.Path(g.Type)+": "+gateWaits(g))
		}
	})
	EachMember(s, func(m *api.MemberUpdateStatus) {
		switch {
		case m.Status.State == api.StateRunning && (unfollowed(m) || m.Reason == api.ReasonUpdateRunStuck):
			out = append(out, fmt.Sprintf("member %s: %s", m.Name, m.Message))
		case stopping:
		case m.Status.State == api.StatePending:
			out = append(out, fmt.Sprintf("member %s: %s: %s", m.Name, m.Reason, m.Message))
		}
	})
	if w := s.Wait; w != nil && w.Status.State == api.StateRunning && !stopping {
		out = append(out, "wait after stage "+s.Name+" until "+w.Deadline.UTC().Format("2006-01-02T15:04:05Z"))
	}
	return out
}

// Text renders the tree of a run, a node a line, indented; gates and waits stand where they act.
func Text(status *api.UpdateRunStatus) string {
	var b strings.Builder
	fmt.Fprintf(&b, "run %s\n", status.Status.State)
	for i := range status.Stages {
		s := &status.Stages[i]
		fmt.Fprintf(&b, "  stage %s %s\n", s.Name, s.Status.State)
		gateText(&b, "    before ", s.BeforeGates)
		for j := range s.Groups {
			g := &s.Groups[j]
			fmt.Fprintf(&b, "    group %s %s\n", g.Name, g.Status.State)
			gateText(&b, "      before ", g.BeforeGates)
			for k := range g.Members {
				fmt.Fprintf(&b, "      %s %s\n", g.Members[k].Name, memberText(&g.Members[k]))
			}
			gateText(&b, "      after ", g.AfterGates)
		}
		gateText(&b, "    after ", s.AfterGates)
		if s.Wait != nil {
			fmt.Fprintf(&b, "    wait %s\n", s.Wait.Status.State)
		}
	}
	return b.String()
}

func gateText(b *strings.Builder, indent string, gates []api.GateStatus) {
	for k := range gates {
		fmt.Fprintf(b, "%s%s %s\n", indent, gates[k].Type, gates[k].Status.State)
	}
}

func memberText(m *api.MemberUpdateStatus) string {
	text := string(m.Status.State)
	if m.Reason != "" {
		text += " " + m.Reason
	}
	if m.Attempt > 1 {
		text += fmt.Sprintf(" (attempt %d)", m.Attempt)
	}
	return text
}
