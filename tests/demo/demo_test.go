package main

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	_ "flotilla/tests/elsewhen" // the demo inherits the clock
)

func demoCommand(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "demo")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, ".").CombinedOutput()
	require.NoError(t, err, string(out))
	return exec.CommandContext(t.Context(), binary, args...)
}

func TestDemoEndsWell(t *testing.T) {
	out, err := demoCommand(t).CombinedOutput()
	require.NoError(t, err, string(out))
	require.Contains(t, string(out), "every step was as expected")
	require.Contains(t, string(out), "run to-1-36-4              Completed  8/8")
	require.Contains(t, string(out), "nodes of osaka: 1 for 0.")
	require.Contains(t, string(out), "every pod runs")
}

func TestDemoOfRolloutsEndsWell(t *testing.T) {
	out, err := demoCommand(t, "--rollouts").CombinedOutput()
	require.NoError(t, err, string(out))
	require.Contains(t, string(out), "every step was as expected")
}

func TestDemoOfRolloutsFailsWhenNothingGoesBack(t *testing.T) {
	out, err := demoCommand(t, "--rollouts", "--never-check", "--patience", "15s").CombinedOutput()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit, string(out))
	require.Equal(t, 1, exit.ExitCode())
	require.Contains(t, string(out), "MISSED: step 6, a change fails")
}

func TestDemoFailsWhenTheFailingMemberNeverComesBack(t *testing.T) {
	out, err := demoCommand(t, "--never-heal", "--patience", "25s").CombinedOutput()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit, string(out))
	require.Equal(t, 1, exit.ExitCode())
	require.Contains(t, string(out), "MISSED: step 8, and comes back")
	require.Contains(t, string(out), rolling)
}
