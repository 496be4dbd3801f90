//go:build kubectl

package kubectl_test

import (
	"bufio"
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestWatch has a kubectl watch what is changed beside it: what begins to match its selector comes, what ends to goes.
func TestWatch(t *testing.T) {
	f := startFleet(t)
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := newShell(t, f, version, "watch-"+strings.ReplaceAll(version, ".", "-"))
			s.do(t, "kubectl create namespace $ns && kubectl create configmap there && kubectl label configmap there app=shop")
			next, watching := s.watch(t, "kubectl get configmaps -l app=shop -w --output-watch-events --no-headers")
			require.Equal(t, "ADDED there 0", next())
			s.do(t, "kubectl create configmap late --from-literal=a=1 && kubectl label configmap late app=shop")
			require.Equal(t, "ADDED late 1", next())
			s.do(t, `kubectl patch configmap late --type=merge -p '{"data":{"b":"2"}}'`)
			require.Equal(t, "MODIFIED late 2", next())
			s.do(t, "kubectl label configmap late app-")
			require.Equal(t, "DELETED late 2", next())
			s.do(t, "kubectl delete configmap there")
			require.Equal(t, "DELETED there 0", next())
			require.NoError(t, watching.Process.Kill())
		})
	}
}

// do runs a command that must work.
func (s *shell) do(t *testing.T, line string) {
	t.Helper()
	out, err := s.command(t.Context(), line).CombinedOutput()
	require.NoError(t, err, "$ %s\n%s", line, out)
}

// watch runs a command that does not end, and gives its lines without their ages.
func (s *shell) watch(t *testing.T, line string) (next func() string, watching *exec.Cmd) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	watching = s.command(ctx, "exec "+line)
	out, err := watching.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, watching.Start())
	t.Cleanup(func() {
		cancel()
		_ = watching.Wait()
	})
	lines := bufio.NewScanner(out)
	return func() string {
		require.True(t, lines.Scan(), "it ended")
		words := strings.Fields(lines.Text())
		require.NotEmpty(t, words)
		return strings.Join(words[:len(words)-1], " ")
	}, watching
}
