package picture

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/overview"
	"flotilla/core/plan"
	"flotilla/core/stage"
)

const (
	// courseSlices is how many parts of equal length a course has.
	courseSlices = 96
	// maxLanes is how many lanes there are before stages that the run is not at get one each.
	maxLanes = 40
	// laneHours is how far ahead windows are drawn where nobody knows when a run ends.
	laneHours = 14 * 24
)

// Course is how far a run is over time, in lanes on one axis: what was, and what is foreseen.
type Course struct {
	// From and To are the ends of the time that it shows, in slices of equal length.
	From metav1.Time `json:"from"`
	Now  metav1.Time `json:"now"`
	To   metav1.Time `json:"to"`
	// Ends is when the run ended, or is expected to, zero when nobody knows.
	Ends  metav1.Time `json:"ends,omitzero"`
	Lanes []Lane      `json:"lanes"`
	// Waiting counts the members that have not begun by what they wait for, the most first; WaitingTotal counts all.
	Waiting      []overview.Count `json:"waiting,omitempty"`
	WaitingTotal int              `json:"waitingTotal"`
}

// Lane is a group of a stage over time, in the order in which they run. Where a run has many groups it may be a whole stage, and
// Group is empty then.
type Lane struct {
	Stage string          `json:"stage"`
	Group string          `json:"group,omitempty"`
	State api.UpdateState `json:"state"`
	Sign  overview.Sign   `json:"sign"`
	// Members counts all, States by state; Failed and Tolerated are how many failed and may.
	Members   int                     `json:"members"`
	States    map[api.UpdateState]int `json:"states"`
	Failed    int                     `json:"failed"`
	Tolerated int                     `json:"tolerated"`
	// Expected is when the first member is expected to begin and the last to end, zero where that is not known. What has begun
	// and ended is at those times.
	Expected Span `json:"expected,omitzero"`
	// Waiting counts members as Course.Waiting does.
	Waiting []overview.Count `json:"waiting,omitempty"`
	// Windows are when windows of members that have not begun are open, from now on.
	Windows []LaneWindow `json:"windows,omitempty"`
	// Slices say how many members were, or will be, in which state at the end of each slice of the course; those after now are
	// empty where nothing is foreseen.
	Slices []Slice `json:"slices"`
	// Marks are its gates and waits in order of time.
	Marks []Mark `json:"marks,omitempty"`

	groups []api.GroupStatus
}

// Span is from one time to another; either may be zero.
type Span struct {
	From metav1.Time `json:"from,omitzero"`
	To   metav1.Time `json:"to,omitzero"`
}

// LaneWindow is a span of full hours in which windows are open.
type LaneWindow struct {
	Span
	// Most is for how many members at once.
	Most int `json:"most"`
}

// Slice counts the members of a lane at one time.
type Slice struct {
	Done    int `json:"done,omitempty"`
	Running int `json:"running,omitempty"`
	Failed  int `json:"failed,omitempty"`
}

// CourseOf is the course of a run that was created, of an upgrade or of content. Forecast is what is expected of it, nil where
// none was made; of windows those of the members of the run count, none need be given.
func CourseOf(status *api.UpdateRunStatus, forecast *plan.Run, windows []MemberWindows, now time.Time) Course {
	explained := stage.Explained(status)
	c := Course{Now: metav1.NewTime(now), Lanes: lanesOf(&explained)}
	stays, gates, waiting := staysOf(&explained, forecast), RunGates(&explained), map[string]int{}
	for i := range c.Lanes {
		lane := &c.Lanes[i]
		lane.count(explained.Status.State, waiting)
		if forecast != nil {
			lane.foresee(stays)
		}
	}
	c.Waiting = overview.Counts(waiting)
	for _, n := range waiting {
		c.WaitingTotal += n
	}
	c.frame(&explained, forecast, gates)
	marks, open := marksOf(gates, forecast), c.windowed(&explained, windows)
	for i := range c.Lanes {
		lane := &c.Lanes[i]
		c.fill(lane, stays, forecast != nil)
		lane.Marks, lane.Windows = lane.its(marks), open.spans(lane)
		lane.groups = nil // a course is kept longer than what it was made of
	}
	return c
}

// lanesOf is a lane a group; of many, a lane a stage where the run is not.
func lanesOf(status *api.UpdateRunStatus) (lanes []Lane) {
	current, all := stage.CurrentStage(status), 0
	for i := range status.Stages {
		all += len(status.Stages[i].Groups)
	}
	for i := range status.Stages {
		s := &status.Stages[i]
		switch {
		case s.Name == api.DeleteStage && len(s.Groups[0].Members) == 0:
		case all > maxLanes && i != current:
			lanes = append(lanes, Lane{Stage: s.Name, State: s.Status.State, Failed: s.FailureCount, Tolerated: s.MaxAllowedFailures, groups: s.Groups})
		default:
			for j := range s.Groups {
				g := &s.Groups[j]
				lanes = append(lanes, Lane{Stage: s.Name, Group: g.Name, State: g.Status.State, Failed: g.FailureCount, Tolerated: g.MaxAllowedFailures, groups: s.Groups[j : j+1]})
			}
		}
	}
	return lanes
}

// each calls for each member of the lane.
func (l *Lane) each(do func(*api.MemberUpdateStatus)) {
	for j := range l.groups {
		for k := range l.groups[j].Members {
			do(&l.groups[j].Members[k])
		}
	}
}

// count counts the members of a lane as it stands, and in waiting what they wait for.
func (l *Lane) count(run api.UpdateState, waiting map[string]int) {
	if l.Sign = overview.SignOfUpdate(l.State); l.Sign < overview.Warn && l.Failed > 0 {
		l.Sign = overview.Warn
	}
	here := map[string]int{}
	l.States = map[api.UpdateState]int{}
	l.each(func(m *api.MemberUpdateStatus) {
		l.Members++
		l.States[m.Status.State]++
		if what := waitsFor(m, run); what != "" {
			here[what]++
			waiting[what]++
		}
	})
	l.Waiting = overview.Counts(here)
}

// Done counts the members that need nothing more and did not fail.
func (l *Lane) Done() int { return l.States[api.StateCompleted] + l.States[api.StateSkipped] }

// Running counts the members that are under way.
func (l *Lane) Running() int { return l.States[api.StateRunning] }

// stretch takes in times that are known.
func (s *Span) stretch(times ...metav1.Time) {
	for _, t := range times {
		if t.IsZero() {
			continue
		}
		if s.From.IsZero() || t.Before(&s.From) {
			s.From = t
		}
		if s.To.Before(&t) {
			s.To = t
		}
	}
}

// foresee says when the members of a lane are expected to begin and end.
func (l *Lane) foresee(stays map[string]stay) {
	starts, ends, open := Span{}, Span{}, false
	l.each(func(m *api.MemberUpdateStatus) {
		one := stays[m.Name]
		starts.stretch(one.From)
		ends.stretch(one.To)
		open = open || one.open
	})
	if l.Expected.From = starts.From; !open {
		l.Expected.To = ends.To
	}
}

// frame says which time the course shows: from the start of the run to its end, or to the last thing that is known of it.
func (c *Course) frame(status *api.UpdateRunStatus, forecast *plan.Run, gates []RunGate) {
	if forecast != nil && forecast.ExpectedEnd != nil {
		c.Ends = *forecast.ExpectedEnd
	}
	shown := Span{c.Now, c.Now}
	shown.stretch(status.Status.StartTime, c.Ends)
	for i := range c.Lanes {
		l := &c.Lanes[i]
		shown.stretch(l.Expected.From, l.Expected.To)
		for j := range l.groups {
			shown.stretch(l.groups[j].Status.StartTime, l.groups[j].Status.CompletedTime)
		}
	}
	for i := range gates {
		shown.stretch(gates[i].Since, gates[i].Opens)
	}
	if ended := status.Status.CompletedTime; !ended.IsZero() {
		c.Ends, shown.To = ended, ended
	} else {
		shown.To.Time = shown.To.Add(max(shown.To.Sub(shown.From.Time)/12, time.Minute))
	}
	if !shown.From.Before(&shown.To) {
		shown.To.Time = shown.From.Add(time.Minute)
	}
	c.From, c.To = shown.From, shown.To
}

// fill counts the members of a lane slice by slice. What is not foreseen ends with the slice that now is in.
func (c *Course) fill(l *Lane, stays map[string]stay, foreseen bool) {
	l.Slices = make([]Slice, courseSlices)
	ends, length := make([]time.Time, courseSlices), c.To.Sub(c.From.Time)
	for i := range ends {
		ends[i] = c.From.Add(length * time.Duration(i+1) / courseSlices)
	}
	if !foreseen && c.Now.Before(&c.To) {
		at, _ := slices.BinarySearchFunc(ends, c.Now.Time, time.Time.Compare)
		ends = ends[:min(at+1, courseSlices)]
		ends[len(ends)-1] = c.Now.Time
	}
	l.each(func(m *api.MemberUpdateStatus) {
		one := stays[m.Name]
		for i, end := range ends {
			l.Slices[i].add(&one, end)
		}
	})
}

func (s *Slice) add(one *stay, at time.Time) {
	begun, ended := !one.From.IsZero() && !at.Before(one.From.Time), !one.To.IsZero() && !at.Before(one.To.Time)
	switch {
	case ended && one.failed:
		s.Failed++
	case ended:
		s.Done++
	case begun:
		s.Running++
	}
}
