package cli_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/hub/flotilla/cli"
	"flotilla/hub/flotilla/cli/session"
)

// TestWatchedRun follows a run that fails on one member, line by line, and then, taken up again at a
// terminal, as a tree that is drawn over; each ends with the exit code of the run.
func TestWatchedRun(t *testing.T) {
	env := liveEnvironment(startFleet(t))
	flotilla := func(terminal bool, want int, args ...string) string {
		t.Helper()
		var out, errs bytes.Buffer
		e := env
		e.Out, e.Err, e.Terminal = &out, &errs, terminal
		require.Equal(t, want, cli.Main(t.Context(), args, e), "%v: %s%s", args, out.String(), errs.String())
		return out.String()
	}
	for _, name := range []string{"oslo", "tampa"} {
		flotilla(false, session.ExitDone, "member", "admit", name, "--allow-labels", "*")
	}
	flotilla(false, session.ExitDone, "wait", "members", "oslo", "tampa", "--for=jsonpath={.status.inventory.controlPlaneVersion}=1.33.1")

	lines := flotilla(false, session.ExitPartial, "run", "create", "fall", "--to", "1.34.0",
		"--stage", "eu:region=eu", "--stage", "us:region=us", "--start", "--watch")
	require.NotContains(t, lines, "\033[", "what is no terminal gets lines")
	require.NotContains(t, lines, "##", "and no bars")
	require.Regexp(t, `(?m)^\d\d:\d\d:\d\dZ  run fall Failed: Full to 1\.34\.0, 1 failed, `, lines)
	require.Regexp(t, `(?m)^\d\d:\d\d:\d\dZ  member tampa Failed: UpgradeFailed: `, lines)
	require.True(t, strings.HasSuffix(lines, "next: flotilla run start fall\n"), lines)

	drawn := flotilla(true, session.ExitDone, "run", "start", "fall", "--watch")
	require.Contains(t, drawn, "\033[")
	last := drawn[strings.LastIndex(drawn, "\033[J")+1:]
	require.Contains(t, last, "[####################] 2/2")
	require.Regexp(t, `tampa +Completed +.*, attempt 2\n`, last)

	require.Contains(t, flotilla(false, session.ExitDone, "get", "runs"), "fall   Completed   -       2/2          0        -            -")
	flotilla(false, session.ExitDone, "run", "create", "never", "--to", "1.34.1", "--approve-before", "default", "--start")
	flotilla(false, session.ExitTimedOut, "run", "status", "never", "--watch", "--timeout", "1s")
	text := interruptedWhen(t, env, "gate", "run", "status", "never", "--watch")
	require.Contains(t, text, "interrupted: run never is Pending, and goes on without this command")
	require.Contains(t, text, "next: flotilla run status never --watch")
}
