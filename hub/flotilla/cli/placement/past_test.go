package placement

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A time is written in many ways; without a zone it is the terminal's.
func TestMoments(t *testing.T) {
	zone := time.FixedZone("east", 2*60*60)
	now := time.Date(2026, 3, 10, 15, 30, 0, 0, zone)
	for text, want := range map[string]string{
		"2026-03-01T12:00:00Z": "2026-03-01T14:00:00+02:00", "2026-03-01": "2026-03-01T00:00:00+02:00", "2026-03-01 12:00": "2026-03-01T12:00:00+02:00",
		"2026-03-01T12:00": "2026-03-01T12:00:00+02:00", "2026-03-01T12:00:30": "2026-03-01T12:00:30+02:00",
		"12:05": "2026-03-10T12:05:00+02:00", "-2h": "2026-03-10T13:30:00+02:00", "-90s": "2026-03-10T15:28:30+02:00", "-3d": "2026-03-07T15:30:00+02:00",
		"today": "2026-03-10T00:00:00+02:00", "yesterday": "2026-03-09T15:30:00+02:00", "now": "2026-03-10T15:30:00+02:00",
	} {
		at, err := Moment("--at", text, now)
		require.NoError(t, err, text)
		require.Equal(t, want, at.In(zone).Format(time.RFC3339), text)
	}
	for text, says := range map[string]string{
		"2h": `--at: found "2h", expected a time such as`, "": "expected", "-d": "expected", "--3d": "expected", "-x": "expected", "25:00": "expected", "2026-13-01": "expected", "-99999999999d": "expected",
		"16:00": `--at: found "16:00", which is not yet: it is 2026-03-10T15:30:00+02:00`, "2026-03-11": "not yet",
	} {
		_, err := Moment("--at", text, now)
		require.ErrorContains(t, err, says, text)
	}
}

func TestSpans(t *testing.T) {
	for ms, want := range map[int64]string{0: "0s", 12: "12ms", 1234: "1.234s", 61_700: "1m2s", 3_600_000: "1h0m0s", -1500: "-1.5s"} {
		require.Equal(t, want, span(ms))
	}
}
