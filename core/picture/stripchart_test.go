package picture

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// openFrom are a day's hours of which some are open for so many.
func openFrom(first, last, members int) []int {
	open := make([]int, 24)
	for hour := first; hour < last; hour++ {
		open[hour] = members
	}
	return open
}

// A row of a strip is drawn in four shades, by which share of its members is open in an hour.
func TestAStripIsDrawnByTheShareThatIsOpen(t *testing.T) {
	for name, c := range map[string]struct {
		group StripGroup
		want  [stripLevels]string
	}{
		"nothing open":              {StripGroup{Members: 4, Open: openFrom(0, 0, 0)}, [stripLevels]string{}},
		"a quarter":                 {StripGroup{Members: 4, Open: openFrom(2, 6, 1)}, [stripLevels]string{0: "M2 0h4v20h-4z"}},
		"half":                      {StripGroup{Members: 4, Open: openFrom(2, 6, 2)}, [stripLevels]string{1: "M2 0h4v20h-4z"}},
		"more than half":            {StripGroup{Members: 8, Open: openFrom(2, 6, 5)}, [stripLevels]string{2: "M2 0h4v20h-4z"}},
		"all, from the first hour":  {StripGroup{Members: 4, Open: openFrom(0, 3, 4)}, [stripLevels]string{3: "M0 0h3v20h-3z"}},
		"all, to the last hour":     {StripGroup{Members: 4, Open: openFrom(20, 24, 4)}, [stripLevels]string{3: "M20 0h4v20h-4z"}},
		"always, and some at times": {StripGroup{Members: 4, Always: 1, Open: openFrom(2, 6, 3)}, [stripLevels]string{0: "M0 0h2v20h-2zM6 0h18v20h-18z", 3: "M2 0h4v20h-4z"}},
	} {
		s := &Strip{From: metav1.NewTime(thursday), Days: 1, Groups: []StripGroup{c.group}}
		require.Equal(t, c.want, s.Chart().Rows[0].Levels, name)
	}
}

// The best hour of a row is the first in which most members may be upgraded, those without a schedule among them.
func TestTheBestHourOfAStrip(t *testing.T) {
	open := openFrom(2, 6, 1)
	open[4], open[5] = 3, 3
	s := &Strip{From: metav1.NewTime(thursday), Days: 1, Groups: []StripGroup{
		{Name: strings.Repeat("a", longestName+1), Members: 5, Always: 2, Open: open}, {Members: 2, Always: 2, Open: openFrom(0, 0, 0)},
	}}
	c := s.Chart()
	require.Equal(t, []any{24, top + 2*stripPitch, 2}, []any{c.Hours, c.Height, len(c.Rows)})
	require.NotEmpty(t, c.Ticks)
	require.Equal(t, []any{thursday.Add(4 * time.Hour), 5, top}, []any{c.Rows[0].Best.Time, c.Rows[0].Most, c.Rows[0].Y})
	require.Equal(t, []any{thursday, 2, top + stripPitch, "(none)", "(none)"}, []any{c.Rows[1].Best.Time, c.Rows[1].Most, c.Rows[1].Y, c.Rows[1].Label, c.Rows[1].Short})
	require.True(t, strings.HasSuffix(c.Rows[0].Short, "…"))
	require.Len(t, []rune(c.Rows[0].Short), longestName)
	require.Equal(t, strings.Repeat("ä", longestName), shortened(strings.Repeat("ä", longestName)))
}
