package picture

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// stripLevels is in how many steps a strip tells many from few.
	stripLevels = 4
	stripPitch  = 26 // pixels from row to row
)

// StripChart is the picture of a strip. An hour is one unit wide.
type StripChart struct {
	*Strip
	Hours  int
	Scale  string // pixels an hour
	Height int
	Ticks  []Place
	Rows   []StripRow
}

// StripRow is one group: the hours in which more than a share of its members are open, for each level a path.
type StripRow struct {
	*StripGroup
	Label, Short string
	Y            int
	Levels       [stripLevels]string
	// Best is the first hour in which Most may be upgraded.
	Best metav1.Time
	Most int
}

// Chart places a strip on its picture.
func (s *Strip) Chart() *StripChart {
	c := &StripChart{Strip: s, Hours: 24 * s.Days, Height: top + stripPitch*len(s.Groups)}
	c.Scale = strconv.FormatFloat(float64(right-left)/float64(c.Hours), 'f', 3, 64)
	c.Ticks = ticksOn(s.From.Time, s.From.AddDate(0, 0, s.Days), 10)
	for i := range s.Groups {
		g := &s.Groups[i]
		row := StripRow{StripGroup: g, Label: cmp.Or(g.Name, "(none)"), Y: top + stripPitch*i}
		row.Short = shortened(row.Label)
		for level := range row.Levels {
			row.Levels[level] = g.hours(level)
		}
		best := 0
		for hour, n := range g.Open {
			if n > g.Open[best] {
				best = hour
			}
		}
		row.Best, row.Most = metav1.NewTime(s.From.Add(time.Duration(best)*time.Hour)), g.Open[best]+g.Always
		c.Rows = append(c.Rows, row)
	}
	return c
}

// hours is the path of the hours in which so many of a group are open as stand for a level.
func (g *StripGroup) hours(level int) string {
	var d strings.Builder
	begin := -1
	for h := 0; h <= len(g.Open); h++ {
		at := h < len(g.Open) && g.Open[h]+g.Always > 0 && ((g.Open[h]+g.Always)*stripLevels-1)/g.Members == level
		switch {
		case at && begin < 0:
			begin = h
		case !at && begin >= 0:
			fmt.Fprintf(&d, "M%d 0h%dv20h-%dz", begin, h-begin, h-begin)
			begin = -1
		}
	}
	return d.String()
}
