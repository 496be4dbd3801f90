package terminal_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"flotilla/configs/terminal"
)

func TestTheClockIsTheMachinesUnlessTheEnvironmentSaysOtherwise(t *testing.T) {
	for ahead, want := range map[string]time.Duration{"": 0, "48h": 48 * time.Hour, "-30m": -30 * time.Minute} {
		t.Setenv(terminal.ClockAhead, ahead)
		now, err := terminal.Clock()
		require.NoError(t, err)
		require.InDelta(t, want, time.Until(now()), float64(time.Minute), ahead)
		var log bytes.Buffer
		terminal.TellClock(zerolog.New(&log))
		require.Equal(t, ahead != "", log.Len() > 0, "whoever reads the log is told of a clock of its own: %s", ahead)
	}
	t.Setenv(terminal.ClockAhead, "tomorrow")
	_, err := terminal.Clock()
	require.EqualError(t, err, `FLOTILLA_CLOCK_AHEAD: found "tomorrow", expected a duration such as 48h or -30m`)
}
