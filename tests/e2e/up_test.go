//go:build e2e

package e2e

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/tests/rig"
)

// TestUpPrintsWhatToType types what `make e2e-up` prints, and interrupts it.
func TestUpPrintsWhatToType(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "up")
	require.NoError(t, rig.Build(program, nil, "flotilla/tests/e2e/up"))
	command := exec.CommandContext(t.Context(), program)
	command.Stderr = os.Stderr
	command.Env = append(os.Environ(), "TMPDIR="+t.TempDir()) // a lab sweeps what others left, which is another test's
	stdout, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	said := bufio.NewScanner(stdout)
	var logs string
	var script []string
	for said.Scan() {
		line := strings.TrimSpace(said.Text())
		if folder, is := strings.CutPrefix(line, "Logs are in "); is {
			logs = strings.TrimSuffix(folder, ".")
		}
		if strings.HasPrefix(line, "export ") {
			script = append(script, line)
		}
		if next, is := strings.CutPrefix(line, "Next: "); is {
			script = append(script, next, "kubectl --context m3 get nodes")
			break
		}
	}
	require.DirExists(t, logs)
	typed, err := exec.CommandContext(t.Context(), "sh", "-ec", strings.Join(script, "\n")).CombinedOutput()
	require.NoError(t, err, string(typed))
	for _, member := range members {
		require.Regexp(t, `(?m)^`+member+` +Ready `, string(typed))
	}
	require.Contains(t, string(typed), "node-3")
	require.NoError(t, command.Process.Signal(os.Interrupt))
	_, err = io.Copy(io.Discard, stdout)
	require.NoError(t, err)
	require.NoError(t, command.Wait())
	require.NoDirExists(t, filepath.Dir(logs))
}
