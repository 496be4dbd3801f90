package cli_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/hub/flotilla/cli"
	"flotilla/hub/flotilla/cli/session"
)

// TestWaitsForDeletionsSayWhatGoesOnWhenInterrupted lets a member leave whose agent is away, and somebody
// interrupts the command: the member goes on leaving, and the text says so, not that a time has passed. The
// command that it names waits on; interrupted too, it says the same.
func TestWaitsForDeletionsSayWhatGoesOnWhenInterrupted(t *testing.T) {
	fleet := startHurried(t)
	admitAll(t, fleet)
	applyAll(t, fleet, everywhere)
	env := liveEnvironment(fleet)
	require.NoError(t, fleet.StopAgent("oslo"))
	text := interruptedWhen(t, env, "deleting", "member", "leave", "oslo", "--when-leaving", "Delete")
	require.Contains(t, text, "interrupted: member/oslo is leaving, and goes on without this command: what was placed on it is withdrawn, then it is gone")
	require.NotContains(t, text, "2m0s")
	require.Contains(t, text, "next: flotilla wait --for=delete member/oslo")

	text = interruptedWhen(t, env, "deleting", "delete", "placement", "shop")
	require.Contains(t, text, "interrupted: placement/shop is not gone yet, its deletion goes on without this command")
	require.Contains(t, text, "next: flotilla wait --for=delete placement/shop")
}

// interruptedWhen runs a command until it shows a text, interrupts it, and returns all it printed.
func interruptedWhen(t *testing.T, env session.Environment, shown string, args ...string) string {
	t.Helper()
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	out, ended := &screen{}, make(chan int, 1)
	env.Out, env.Err = out, out
	go func() { ended <- cli.Main(ctx, args, env) }()
	bustest.Eventually(t, out.shows(shown))
	interrupt()
	require.Equal(t, session.ExitTimedOut, <-ended, out.String())
	return out.String()
}
