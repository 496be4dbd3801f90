package upgrader

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	targetmemory "flotilla/agent/target/memory"
	"flotilla/agent/upgrader/command"
	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/member"
	"flotilla/core/api"
	"flotilla/tests/elsewhen"
)

// agentVariable holds a folder and a URL, and makes the test program an agent of that data directory
// until it is killed.
const agentVariable = "FLOTILLA_TEST_AGENT"

func TestMain(m *testing.M) {
	if command.Supervise() {
		return
	}
	if text := os.Getenv(agentVariable); text != "" {
		dir, url, _ := strings.Cut(text, " ")
		fmt.Fprintln(os.Stderr, "the agent was to be killed:", agentProcess(dir, url))
		return
	}
	goleak.VerifyTestMain(m)
}

func agentProcess(dir, url string) error {
	ctx := context.Background()
	conn, err := member.Connect(ctx, bus.Options{Fleet: bustest.Fleet, URL: url, Creds: filepath.Join(dir, "creds"), Log: zerolog.Nop()}, "berlin")
	if err != nil {
		return err
	}
	d, err := command.New(execOptions(dir))
	if err != nil {
		return err
	}
	u, err := New(Options{
		Member: "berlin", Hub: conn, Target: targetmemory.New(targetmemory.Options{Name: "berlin", Clock: targetmemory.Running(elsewhen.Now)}), Driver: d, Data: dir,
		Checks: Checks{Settle: 300 * time.Millisecond}, Log: zerolog.Nop(),
	})
	if err != nil {
		return err
	}
	return u.Run(ctx)
}

// upgradeScript takes its time and then makes the inventory say what was wanted.
const upgradeScript = `
echo run >> runs
echo '{"percent": 30, "message": "in the middle"}'
while [ ! -e go ]; do sleep 0.02; done
echo "{\"controlPlaneVersion\": \"$FLOTILLA_CONTROL_PLANE_VERSION\", \"nodePools\": [{\"name\": \"np1\", \"kubernetesVersion\": \"1.37.1\"}]}" > inventory
echo '{"percent": 100, "message": "moved by a command", "pools": ["np1"]}'
exit "$(cat code 2>/dev/null || echo 0)"
`

func execOptions(dir string) command.Options {
	return command.Options{
		Dir: filepath.Join(dir, "upgrades", "commands"), Program: os.Args[0], Member: "berlin", Directory: dir,
		Command: []string{"/bin/sh", "-c", upgradeScript}, Inventory: []string{"/bin/cat", "inventory"}, Timeout: time.Minute,
	}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
}

func execFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, "inventory", `{"controlPlaneVersion": "1.36.3", "nodePools": [{"name": "np1", "kubernetesVersion": "1.36.3"}]}`)
	return dir
}

// byCommand is an operation for the command.
func byCommand(attempt int) *api.UpgradeOperation {
	op := full(attempt)
	op.NodePools = []api.PoolUpgrade{{Pool: "np1", ToVersion: "1.37.1"}}
	return op
}

func requireRuns(t *testing.T, dir string, want int) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "runs"))
	require.NoError(t, err)
	require.Equal(t, want, strings.Count(string(text), "run\n"))
}

func (h *hub) startExec(dir string) *agent {
	h.t.Helper()
	d, err := command.New(execOptions(dir))
	require.NoError(h.t, err)
	m := targetmemory.New(targetmemory.Options{Name: "berlin", Clock: targetmemory.Running(elsewhen.Now)})
	return h.start(m, dir, func(o *Options) { o.Driver = d })
}

func TestCommandsUpgrade(t *testing.T) {
	t.Parallel()
	h, dir := newHub(t), execFolder(t)
	h.startExec(dir)
	op := byCommand(1)
	h.command(op)
	r := h.expect("r", func(r api.UpgradeResult) bool { return r.Percent == 30 })
	require.Equal(t, "in the middle", r.Message)
	write(t, dir, "go", "")
	r = h.outcome(op, api.OutcomeSucceeded)
	require.Equal(t, "moved by a command", r.Message)
	require.Equal(t, []string{"np1"}, r.Pools)
	i, err := h.inventory()
	require.NoError(t, err)
	require.Equal(t, "1.37.1", i.ControlPlaneVersion)

	write(t, dir, "code", "3")
	second := byCommand(2)
	second.ControlPlaneVersion = "1.37.2"
	h.command(second)
	require.Contains(t, h.outcome(second, api.OutcomeFailed).Message, "exit code 3: moved by a command")
	requireRuns(t, dir, 2)
}

// A command that says it succeeded is not believed when the member is another than was wanted.
func TestCommandsAreNotBelieved(t *testing.T) {
	t.Parallel()
	h, dir := newHub(t), execFolder(t)
	write(t, dir, "go", "")
	h.startExec(dir)
	op := byCommand(1)
	op.NodePools[0].Pool = "np7"
	h.command(op)
	r := h.outcome(op, api.OutcomeFailed)
	require.Equal(t, api.ReasonHealthCheckFailed, r.Reason)
	require.Contains(t, r.Message, "there is no node pool np7")
}

func TestAgentIsKilledWhileItsCommandRuns(t *testing.T) {
	t.Parallel()
	for name, overtaken := range map[string]bool{"the command waits": false, "the command ends meanwhile": true} {
		t.Run(name, func(t *testing.T) {
			h, dir := newHub(t), execFolder(t)
			creds := h.server.AgentOptions(t, "berlin").CredsText
			write(t, dir, "creds", string(creds))
			child := exec.CommandContext(t.Context(), os.Args[0])
			child.Env = append(os.Environ(), agentVariable+"="+dir+" "+h.server.URL())
			require.NoError(t, child.Start())
			op := byCommand(1)
			h.command(op)
			h.expect("r", func(r api.UpgradeResult) bool { return r.Percent == 30 })
			require.NoError(t, child.Process.Kill())
			require.Error(t, child.Wait())

			if overtaken {
				write(t, dir, "go", "")
				bustest.Eventually(t, func() error {
					found, err := filepath.Glob(filepath.Join(dir, "upgrades", "commands", "*", "end.json"))
					if len(found) == 0 {
						err = errors.Join(err, errors.New("the command has not ended"))
					}
					return err
				})
			}
			h.startExec(dir)
			write(t, dir, "go", "")
			r := h.outcome(op, api.OutcomeSucceeded)
			require.Equal(t, "moved by a command", r.Message)
			requireRuns(t, dir, 1)
		})
	}
}
