package terminal_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/configs/terminal"
)

func TestRehearsalsSayHowLong(t *testing.T) {
	t.Setenv(terminal.Lease, "3s")
	t.Setenv(terminal.Reconnect, "200ms")
	for variable, want := range map[string]time.Duration{terminal.Lease: 3 * time.Second, terminal.Reconnect: 200 * time.Millisecond, "FLOTILLA_NOTHING": 0} {
		found, err := terminal.Rehearsal(variable)
		require.NoError(t, err)
		require.Equal(t, want, found, variable)
	}
	for _, wrong := range []string{"soon", "-3s", "200ms"} {
		t.Setenv(terminal.Lease, wrong)
		_, err := terminal.Rehearsal(terminal.Lease)
		require.EqualError(t, err, `FLOTILLA_LEASE: found "`+wrong+`", expected a duration such as 3s`)
	}
}
