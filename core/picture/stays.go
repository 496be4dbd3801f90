package picture

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/plan"
	"flotilla/core/stage"
	"flotilla/core/upgrade"
	"flotilla/core/window"
)

// stay is when a member began and ended, or will; zero for never.
type stay struct {
	Span
	failed bool
	open   bool // it is foreseen, and not to end
}

// staysOf are the stays of all members, foreseen where they have not ended.
func staysOf(status *api.UpdateRunStatus, foreseen *plan.Run) map[string]stay {
	stays := make(map[string]stay, status.Members)
	for i := range status.Stages {
		stage.EachMember(&status.Stages[i], func(m *api.MemberUpdateStatus) {
			one := stay{}
			switch state := m.Status.State; {
			case state.Terminal():
				one = stay{Span: Span{m.Status.StartTime, m.Status.CompletedTime}, failed: state == api.StateFailed}
			case state == api.StateRunning:
				one.From = m.Status.StartTime
			}
			stays[m.Name] = one
		})
	}
	if foreseen == nil {
		return stays
	}
	for i := range foreseen.Members {
		m := &foreseen.Members[i]
		one, known := stays[m.Name]
		if !known || !one.To.IsZero() {
			continue
		}
		if m.Start != nil {
			one.From = *m.Start
		}
		if one.open = m.End == nil && !m.State.Terminal(); m.End != nil {
			one.To, one.failed = *m.End, m.State == api.StateFailed
		}
		stays[m.Name] = one
	}
	return stays
}

// Mark is a gate or a wait on a lane. Its end is zero while nobody knows when it lets go.
type Mark struct {
	Type string `json:"type"` // of a gate, or Wait
	Path string `json:"path"`
	Span
	// Waits says that it holds the run up now.
	Waits bool `json:"waits,omitempty"`

	stage, group string
}

// its are the marks of a lane: its own, and those of its whole stage.
func (l *Lane) its(marks []Mark) (own []Mark) {
	for i := range marks {
		if m := &marks[i]; m.stage == l.Stage && (m.group == "" || l.Group == "" || m.group == l.Group) {
			own = append(own, *m)
		}
	}
	return own
}

// marksOf are the gates and waits that were reached, and those that are foreseen to be, in order of time.
func marksOf(gates []RunGate, foreseen *plan.Run) []Mark {
	marks, at := make([]Mark, len(gates)), map[string]int{}
	for i := range gates {
		g := &gates[i]
		marks[i] = Mark{Type: g.Type, Path: g.Path, Span: Span{g.Since, g.Opened}, stage: g.stage, group: g.group}
		if !g.State.Done() {
			marks[i].To, marks[i].Waits = g.Opens, !g.Since.IsZero()
		}
		at[g.scope()+" "+g.Path] = i
	}
	if foreseen != nil {
		for i := range foreseen.Events {
			e := &foreseen.Events[i]
			if k, known := at[e.Scope+" "+e.Name]; known {
				marks[k].foresee(e)
			}
		}
	}
	marks = slices.DeleteFunc(marks, func(m Mark) bool { return m.From.IsZero() })
	slices.SortStableFunc(marks, func(a, b Mark) int { return a.From.Compare(b.From.Time) })
	return marks
}

// foresee takes in what is expected of a gate or a wait.
func (m *Mark) foresee(e *upgrade.PlanEvent) {
	switch {
	case !e.State.Done() && m.From.IsZero():
		m.From = e.At
	case e.State.Done() && !m.From.IsZero() && (m.To.IsZero() || m.Waits):
		m.To = e.At
	}
}

// windowed are the windows of the members that have not begun, from the hour of a time on.
type windowed struct {
	run   api.UpdateState
	of    map[string]*MemberWindows
	start time.Time
	hours int
	known map[*window.Opening][]hourSpan
}

// windowed is what the windows of members are drawn from: to the end of the course where the run is expected to end.
func (c *Course) windowed(status *api.UpdateRunStatus, windows []MemberWindows) *windowed {
	s := &windowed{
		run: status.Status.State, of: make(map[string]*MemberWindows, len(windows)), start: c.Now.UTC().Truncate(time.Hour), hours: laneHours,
		known: map[*window.Opening][]hourSpan{},
	}
	for i := range windows {
		s.of[windows[i].Member] = &windows[i]
	}
	if !c.Ends.IsZero() {
		s.hours = max(1, min(laneHours, int(c.To.Sub(c.Now.Time)/time.Hour)+2))
	}
	return s
}

// spans are the hours in a row in which a window of any member of a lane is open that has not begun.
func (s *windowed) spans(l *Lane) (out []LaneWindow) {
	row := StripGroup{Open: make([]int, s.hours)}
	l.each(func(m *api.MemberUpdateStatus) {
		if w := s.of[m.Name]; w != nil && waitsFor(m, s.run) != "" {
			row.add(w, spansOf(s.known, w.Open, s.start, s.hours))
		}
	})
	for hour := 0; hour < len(row.Open); hour++ {
		if row.Open[hour] == 0 {
			continue
		}
		from, most := hour, 0
		for ; hour < len(row.Open) && row.Open[hour] > 0; hour++ {
			most = max(most, row.Open[hour])
		}
		at := func(hour int) metav1.Time { return metav1.NewTime(s.start.Add(time.Duration(hour) * time.Hour)) }
		out = append(out, LaneWindow{Span{at(from), at(hour)}, most})
	}
	return out
}
