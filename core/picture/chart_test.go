package picture

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestStepsAreOneLineOverTheirBase(t *testing.T) {
	heights := []int{0, 5, 5, 9, 0, 0, 2}
	x := func(i int) string { return strconv.Itoa(sliceEnd(i)) }
	require.Equal(t, "M"+x(0)+" 100V95H"+x(2)+"V91H"+x(3)+"V100M"+x(5)+" 100V98H"+x(6)+"V100z", steps(100, 0, heights))
	require.Equal(t, "M"+x(1)+" 100V95H"+x(2)+"V91H"+x(3)+"V100M"+x(5)+" 100V98H"+x(6)+"V100z", steps(100, 2, heights))
	require.Empty(t, steps(100, 0, make([]int, 3)))
}

func TestHoursStandInOneLevelEach(t *testing.T) {
	g := &StripGroup{Members: 100, Always: 1, Open: []int{0, 0, 30, 99, 99, 0}}
	require.Equal(t, []string{"M0 0h2v20h-2zM5 0h1v20h-1z", "M2 0h1v20h-1z", "", "M3 0h2v20h-2z"}, []string{g.hours(0), g.hours(1), g.hours(2), g.hours(3)})
	require.Empty(t, (&StripGroup{Members: 3, Open: make([]int, 5)}).hours(0))
}

func TestLanesAreStacked(t *testing.T) {
	c := CourseOf(spring(), nil, nil, noon)
	chart := c.Chart("spring")
	require.Len(t, chart.Lanes, 4)
	eu := chart.Lanes[1]
	require.Equal(t, "prod/eu", eu.Name)
	eu.Slices = []Slice{{Done: 4, Running: 2, Failed: 1}, {Done: 8}}
	layers := eu.layers(0, 2)
	base := strconv.Itoa(eu.Y + laneHeight)
	for i, high := range []int{14 + 7 + 3, 14 + 7} { // of 8 members on 28 pixels: what failed above what runs above what is done
		require.Contains(t, layers[i].Path, "M220 "+base+"V"+strconv.Itoa(eu.Y+laneHeight-high), layers[i].Class)
	}
	require.Contains(t, layers[2].Path, "V"+strconv.Itoa(eu.Y), "all are done in the end")
	require.Equal(t, []int{chart.Now, 0}, []int{c.place(noon), chart.End}, "nobody knows when it ends")
}

// What a slice says that ended by now is what was; what it says of later is foreseen.
func TestTheSliceThatEndsNowIsWhatWas(t *testing.T) {
	c := &Course{From: after(0), Now: after(courseSlices / 2 * time.Hour), To: after(courseSlices * time.Hour)}
	c.Lanes = []Lane{{Stage: "prod", Members: 1, Slices: make([]Slice, courseSlices)}}
	done := func(slice int) (was, will bool) {
		c.Lanes[0].Slices = make([]Slice, courseSlices)
		c.Lanes[0].Slices[slice].Done = 1
		row := c.Chart("spring").Lanes[0]
		return row.Was[2].Path != "", row.Will[2].Path != ""
	}
	for slice, want := range map[int]bool{0: true, courseSlices/2 - 1: true, courseSlices / 2: false, courseSlices - 1: false} {
		was, will := done(slice)
		require.Equal(t, []bool{want, !want}, []bool{was, will}, "slice %d", slice)
	}
}

// Windows are as wide as they are open on the axis, and as high as many members have them; beyond the axis there are none.
func TestWindowsStandBelowTheirLane(t *testing.T) {
	c := &Course{From: after(0), Now: after(0), To: after(93 * time.Hour)}
	lane := Lane{Stage: "prod", Members: 2, Slices: make([]Slice, courseSlices)}
	open := func(from, to time.Duration, most int) LaneWindow {
		return LaneWindow{Span{after(from * time.Hour), after(to * time.Hour)}, most}
	}
	lane.Windows = []LaneWindow{open(10, 14, 2), open(20, 21, 1), open(93, 97, 2)}
	c.Lanes = []Lane{lane}
	row := c.Chart("spring").Lanes[0]
	base := strconv.Itoa(row.Y + laneHeight + laneWindow + 1)
	require.Equal(t, "M320 "+base+"h40v-7h-40zM420 "+base+"h10v-3h-10z", row.Open)
}
