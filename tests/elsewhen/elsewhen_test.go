package elsewhen

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAMomentIsATimeOrADistance(t *testing.T) {
	now := time.Date(2026, 11, 22, 11, 0, 0, 0, time.UTC)
	for moment, want := range map[string]time.Duration{
		"":                          0,
		"-400d":                     -400 * 24 * time.Hour,
		"+1d":                       24 * time.Hour,
		"2026-11-22T12:00:30Z":      time.Hour + 30*time.Second,
		"2026-11-22T12:00:00+02:00": -time.Hour,
	} {
		found, err := offsetOf(moment, now)
		require.NoError(t, err, moment)
		require.Equal(t, want, found, moment)
	}
	for _, wrong := range []string{"tomorrow", "400", "2028-02-30T00:00:00Z"} {
		_, err := offsetOf(wrong, now)
		require.ErrorContains(t, err, wrong)
	}
}
