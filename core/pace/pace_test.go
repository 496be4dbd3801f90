package pace

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var now = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

// Each step takes once at a time; what is taken and what is refused shows how a rate is kept, whatever the clock does.
func TestTake(t *testing.T) {
	const hour = 3600
	for name, c := range map[string]struct {
		rate  Rate
		steps []int // seconds
		taken string
	}{
		"one at a time":                     {Rate{1, 10 * time.Second}, []int{0, 0, 9, 10, 10, 19, 20}, "y--y--y"},
		"a burst, and then one each time":   {Rate{3, 10 * time.Second}, []int{0, 0, 0, 0, 9, 10, 10, 19, 20, 21}, "yyy--y--y-"},
		"rest gives back no more than all":  {Rate{3, 10 * time.Second}, []int{0, 0, 0, hour, hour, hour, hour}, "yyyyyy-"},
		"rest gives back bit by bit":        {Rate{3, 10 * time.Second}, []int{0, 0, 0, 20, 20, 20, 25, 30}, "yyyyy--y"},
		"slower than the rate":              {Rate{2, 10 * time.Second}, []int{0, 10, 20, 30, 40, 40, 40}, "yyyyyy-"},
		"a clock that goes back stops none": {Rate{2, 10 * time.Second}, []int{hour, hour, hour, 0, 9, 10, 19, 20}, "yy---y-y"},
		"a clock that goes back gives none": {Rate{2, 10 * time.Second}, []int{hour, hour, hour - 1, hour - 2, hour - 3, 0, -hour}, "yy-----"},
		"a clock that goes forward":         {Rate{2, 10 * time.Second}, []int{0, 0, hour, hour, hour, 24 * hour, 24 * hour, 24 * hour}, "yyyy-yy-"},
	} {
		t.Run(name, func(t *testing.T) {
			var b Bucket
			taken := ""
			for _, second := range c.steps {
				if c.rate.Take(&b, now.Add(time.Duration(second)*time.Second)) {
					taken += "y"
				} else {
					taken += "-"
				}
			}
			require.Equal(t, c.taken, taken)
		})
	}
}

// Next and Rests are times at which what they say holds, and not before.
func TestNextAndRests(t *testing.T) {
	rate := Rate{Burst: 3, Every: 10 * time.Second}
	var b Bucket
	require.Equal(t, now, rate.Next(&b, now))
	require.Equal(t, now, b.Rests(now))
	require.True(t, b.Full(now))
	for range 3 {
		require.Equal(t, now, rate.Next(&b, now))
		require.True(t, rate.Take(&b, now))
	}
	require.Equal(t, now.Add(10*time.Second), rate.Next(&b, now))
	require.Equal(t, now.Add(30*time.Second), b.Rests(now))
	later := now.Add(29 * time.Second)
	require.False(t, b.Full(later))
	require.Equal(t, later, rate.Next(&b, later))
	require.Equal(t, later.Add(time.Second), b.Rests(later))
	require.True(t, b.Full(later.Add(time.Second)))

	require.True(t, rate.Take(&b, later.Add(time.Minute)))
	back := now.Add(-time.Hour)
	require.Equal(t, back.Add(10*time.Second), b.Rests(back), "it waits for as long as before, whatever the clock shows")
}
