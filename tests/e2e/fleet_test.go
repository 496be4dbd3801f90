//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/configs/terminal"
	"flotilla/tests/e2e/lab"
	"flotilla/tests/rig"
)

// fleet is a hub and an agent beside each cluster, as processes.
type fleet struct {
	testing.TB
	folder string
	env    []string
	hub    *rig.Process
	agents map[string]*rig.Process
}

// newFleet returns a fleet whose members are admitted.
func newFleet(t testing.TB, members ...string) *fleet {
	t.Helper()
	f := newHub(t)
	for _, member := range members {
		f.join(member, clusterOf(t, member))
	}
	return f
}

// newHub returns a fleet without members, whose hub has more arguments.
func newHub(t testing.TB, arguments ...string) *fleet {
	t.Helper()
	f := &fleet{TB: t, folder: t.TempDir(), agents: map[string]*rig.Process{}}
	port := bustest.FreePort(t)
	f.hub = rig.Start(t, nil, f.program("hub"), append([]string{"--data", f.path("hub"), "--port", port}, arguments...)...)
	f.env = []string{"NATS_URL=nats://" + net.JoinHostPort("127.0.0.1", port), "NATS_CREDS=" + f.path("hub", "operator.creds")}
	f.until(func(context.Context) error {
		_, err := f.try("status")
		return err
	})
	return f
}

func (f *fleet) path(words ...string) string {
	return filepath.Join(append([]string{f.folder}, words...)...)
}

func (f *fleet) program(name string) string { return filepath.Join(built, name) }

// hasty has agents that lost their connection try again soon.
var hasty = []string{terminal.Reconnect + "=200ms"}

func (f *fleet) until(condition func(context.Context) error) {
	f.Helper()
	eventually(f.TB, condition)
}

// join starts the agent of a member beside a cluster, with more arguments, and admits it. Tests share clusters, and each has a fleet of
// its own.
func (f *fleet) join(member string, c *lab.Cluster, arguments ...string) {
	f.Helper()
	kubeconfig, err := c.Kubeconfig(fleetUser, "system:masters")
	require.NoError(f, err)
	token := f.path(member + ".token")
	require.NoError(f, os.WriteFile(token, []byte(f.run("member", "enrol", member)), 0o600))
	arguments = append([]string{"--token", "@" + token, "--data", f.path(member), "--kubeconfig", kubeconfig, "--shared-cluster"}, arguments...)
	f.agents[member] = rig.Start(f, hasty, f.program("agent"), arguments...)
	f.admit(member)
}

// admit admits a member as soon as its agent is heard, and waits until it is Ready.
func (f *fleet) admit(member string) {
	f.Helper()
	f.until(func(context.Context) error {
		_, err := f.try("member", "admit", member)
		return err
	})
	f.run("wait", "member/"+member, "--for=jsonpath={.status.state}=Ready", "--timeout=2m")
}

// try types a command of flotilla.
func (f *fleet) try(words ...string) (string, error) {
	ctx, cancel := context.WithTimeout(f.Context(), patience+30*time.Second)
	defer cancel()
	command := exec.CommandContext(ctx, f.program("flotilla"), words...)
	command.Env = append(os.Environ(), append(f.env, "NO_COLOR=1")...)
	var said strings.Builder
	command.Stderr = &said
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("$ flotilla %s: %w\n%s%s", strings.Join(words, " "), err, out, said.String())
	}
	return string(out), nil
}

func (f *fleet) run(words ...string) string {
	f.Helper()
	out, err := f.try(words...)
	require.NoError(f, err)
	return out
}

// apply applies a text.
func (f *fleet) apply(text string) {
	f.Helper()
	path := f.path("applied.yaml")
	require.NoError(f, os.WriteFile(path, []byte(text), 0o600))
	f.run("apply", "-f", path)
}
