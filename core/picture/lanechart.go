package picture

import (
	"fmt"
	"strings"
	"time"

	"flotilla/core/phrase"
)

// Places on pictures over time, in pixels.
const (
	left, right = 220, 1150 // where the axis begins and ends
	top         = 40
	lanePitch   = 46
	laneHeight  = 28
	laneWindow  = 7 // how high the strip of open windows is below a lane
	laneMarks   = 8 // how many gates and waits a lane shows
	longestName = 30
)

// LaneChart is the picture of a course.
type LaneChart struct {
	*Course
	Run           string
	Height, Below int
	Now, End      int // places, 0 for none
	Ticks         []Place
	Lanes         []LaneRow
}

// LaneRow is one row of the picture. Y is its upper end.
type LaneRow struct {
	*Lane
	Name, Short string
	Y           int
	// Was and Will have one path each for what is done, runs and failed, over one another.
	Was, Will []Layer
	// Open are the windows of those that have not begun, higher where more are open.
	Open  string
	Marks []LaneMark
}

// Layer is a path and what it is coloured as.
type Layer struct{ Class, Path string }

// LaneMark is a gate or a wait from X on, Width wide.
type LaneMark struct {
	*Mark
	X, Width, Dy int
	Word         string
}

// Chart places the course of a run on its picture.
func (c *Course) Chart(run string) *LaneChart {
	l := &LaneChart{Course: c, Run: run, Height: top + lanePitch*len(c.Lanes) + 10, Ticks: ticksOn(c.From.Time, c.To.Time, 8)}
	l.Below = l.Height - 10
	if !c.Now.After(c.To.Time) {
		l.Now = c.place(c.Now.Time)
	}
	if !c.Ends.IsZero() {
		l.End = c.place(c.Ends.Time)
	}
	for i := range c.Lanes {
		l.Lanes = append(l.Lanes, c.row(&c.Lanes[i], top+lanePitch*i))
	}
	return l
}

// place is where a time is on the axis.
func (c *Course) place(at time.Time) int { return placeOn(c.From.Time, c.To.Time, at) }

func (c *Course) row(from *Lane, y int) LaneRow {
	l := LaneRow{Lane: from, Name: from.Stage, Y: y}
	if from.Group != "" && from.Group != from.Stage {
		l.Name += "/" + from.Group
	}
	l.Short = shortened(l.Name)
	now := 0
	for now < len(from.Slices) && sliceEnd(now) <= c.place(c.Now.Time) {
		now++
	}
	l.Was, l.Will = l.layers(0, now), l.layers(now, len(from.Slices))
	for i := range from.Windows {
		w := &from.Windows[i]
		x, high := c.place(w.From.Time), share(w.Most, from.Members, laneWindow)
		if width := c.place(w.To.Time) - x; width > 0 {
			l.Open += fmt.Sprintf("M%d %dh%dv-%dh-%dz", x, y+laneHeight+laneWindow+1, width, high, width)
		}
	}
	for i := range from.Marks[:min(len(from.Marks), laneMarks)] {
		l.Marks = append(l.Marks, c.mark(&from.Marks[i]))
	}
	return l
}

func (c *Course) mark(from *Mark) LaneMark {
	m := LaneMark{Mark: from, X: c.place(from.From.Time), Dy: 12, Word: "gate"}
	if from.Type == TypeWait {
		m.Dy, m.Word = 24, "wait"
	}
	end := c.Now.Time
	if !from.To.IsZero() {
		end = from.To.Time
	}
	m.Width = max(2, c.place(end)-m.X)
	return m
}

// layers are the paths of slices [from, to): what failed behind what runs behind what is done.
func (l *LaneRow) layers(from, to int) []Layer {
	done, running, failed := make([]int, to), make([]int, to), make([]int, to)
	for i := from; i < to; i++ {
		s := &l.Slices[i]
		runs, bad := share(s.Running, l.Members, laneHeight), share(s.Failed, l.Members, laneHeight)
		done[i] = min(share(s.Done, l.Members, laneHeight), laneHeight-runs-bad)
		if runs > 0 {
			running[i] = done[i] + runs
		}
		if bad > 0 {
			failed[i] = done[i] + runs + bad
		}
	}
	base := l.Y + laneHeight
	return []Layer{{"bad", steps(base, from, failed)}, {"moving", steps(base, from, running)}, {"well", steps(base, from, done)}}
}

// share is how high n of all are, something where there are any.
func share(n, all, height int) int {
	if n == 0 || all == 0 {
		return 0
	}
	return max(2, n*height/all)
}

func sliceEnd(i int) int { return left + (right-left)*(i+1)/courseSlices }

// steps is the path of a line of steps over a base, each slice from one on as high as it says; empty where all are 0.
func steps(base, from int, heights []int) string {
	var d strings.Builder
	last := 0
	for i, h := range heights[min(from, len(heights)):] {
		if h == last {
			continue
		}
		at := sliceEnd(from + i - 1)
		if last == 0 {
			fmt.Fprintf(&d, "M%d %d", at, base)
		} else {
			fmt.Fprintf(&d, "H%d", at)
		}
		fmt.Fprintf(&d, "V%d", base-h)
		last = h
	}
	if last != 0 {
		fmt.Fprintf(&d, "H%dV%d", sliceEnd(len(heights)-1), base)
	}
	if d.Len() > 0 {
		d.WriteByte('z')
	}
	return d.String()
}

// Told is the picture in a sentence.
func (l *LaneChart) Told() string {
	return fmt.Sprintf("Run %s over time, %s: how many members are done, run and failed", l.Run, phrase.Count(len(l.Lanes), "lane"))
}

// Place is what the URL calls the lane's group, or its stage.
func (l *Lane) Place() string {
	if l.Group == "" {
		return l.Stage
	}
	return l.Stage + "/" + l.Group
}
