package picture

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var thursday = time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)

func TestTicksAreWhatPeopleCountIn(t *testing.T) {
	for _, test := range []struct {
		minutes int
		want    []string
	}{
		{10, []string{"12:05", "12:10"}},
		{60, []string{"12:10", "12:20", "12:30", "12:40", "12:50", "13:00"}},
		{20 * 60, []string{"15:00", "18:00", "21:00", "Fri 27 Nov", "03:00", "06:00"}},
		{12 * 24 * 60, []string{"Fri 27 Nov", "Sun 29 Nov", "Tue 1 Dec", "Thu 3 Dec", "Sat 5 Dec", "Mon 7 Dec"}},
	} {
		var texts []string
		for _, tick := range ticksOn(thursday.Add(time.Minute), thursday.Add(time.Duration(test.minutes)*time.Minute), 8) {
			texts = append(texts, tick.Text)
		}
		require.LessOrEqual(t, len(texts), 9)
		require.Subset(t, texts, test.want[:1], "%d minutes", test.minutes)
		require.Equal(t, test.want, texts, "%d minutes", test.minutes)
	}
}
