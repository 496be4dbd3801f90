package trace

import (
	"fmt"
	"strings"
	"time"

	"flotilla/core/api"
	"flotilla/core/stage"
)

// gates are the start of the run and what the member's stage waited for.
func (j *journey) gates() []mark {
	run := stage.Explained(j.Run)
	began := run.Status.StartTime.Time
	if began.IsZero() {
		return []mark{waits(api.HopRun, "run "+run.Run+" was not started")}
	}
	marks := []mark{second(api.HopRun, began, "run "+run.Run)}
	if began.Before(j.began.at.Truncate(time.Second)) {
		marks[0] = before(api.HopRun, began, "run "+run.Run)
	}
	s, m := find(&run, j.name)
	if s == nil {
		return append(marks, unknown(api.HopGate, "the run does not have the member"))
	}
	if start := m.Status.StartTime.Time; !start.IsZero() {
		return append(marks, second(api.HopGate, start, "stage "+s.Name+opened(s)))
	}
	why := m.Message
	if further := stage.WaitsFor(j.Run); len(further) > 0 && !strings.Contains(why, "gate") {
		why = joined(why, strings.Join(further[:min(len(further), 3)], "; "))
	}
	return append(marks, waits(api.HopGate, because(why, "the run has not come to stage "+s.Name)))
}

// find is a member of a run, with its stage; nil where it has none.
func find(run *api.UpdateRunStatus, member string) (at *api.StageStatus, found *api.MemberUpdateStatus) {
	for i := range run.Stages {
		stage.EachMember(&run.Stages[i], func(m *api.MemberUpdateStatus) {
			if m.Name == member {
				at, found = &run.Stages[i], m
			}
		})
	}
	return at, found
}

// opened says when the gates before a stage were opened, and by whom.
func opened(s *api.StageStatus) string {
	var parts []string
	for i := range s.BeforeGates {
		g := &s.BeforeGates[i]
		if g.Status.CompletedTime.IsZero() {
			continue
		}
		text := fmt.Sprintf("gate %s/before/%s waited %s", s.Name, g.Type, g.Status.CompletedTime.Sub(g.Status.StartTime.Time))
		if g.ApprovedBy != "" {
			text += ", approved by " + g.ApprovedBy
		}
		parts = append(parts, text)
	}
	if len(parts) == 0 {
		return ""
	}
	return "; " + strings.Join(parts, "; ")
}
