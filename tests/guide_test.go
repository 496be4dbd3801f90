package tests

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/configs"
	"flotilla/core/api"
	"flotilla/hub/dev"
	"flotilla/hub/hubd"
	"flotilla/tests/elsewhen"
)

// typed are the lines of a guide that a reader types, in their order.
func typed(t *testing.T, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	var lines []string
	for _, part := range strings.Split(string(text), "```sh\n")[1:] {
		block, _, closed := strings.Cut(part, "```")
		require.True(t, closed)
		lines = append(lines, strings.Split(strings.TrimSpace(block), "\n")...)
	}
	return lines
}

// The guide to update runs is typed, line after line, against a fleet as --dev starts it. Every line
// ends well; plan says with its exit code that something would change.
func TestTheGuideToUpdateRunsWorksWhenTyped(t *testing.T) {
	lines := typed(t, "../docs/updates.md")
	require.Greater(t, len(lines), 20)
	fleet := devFleet(t)
	programs := t.TempDir()
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(programs, "flotilla"), "flotilla/hub/flotilla").CombinedOutput()
	require.NoError(t, err, string(out))
	said := map[string]string{}
	for _, line := range lines {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		shell := exec.CommandContext(ctx, "sh", "-c", line)
		shell.Dir = ".."
		shell.Env = append(os.Environ(), "PATH="+programs+string(os.PathListSeparator)+os.Getenv("PATH"), "NATS_CONTEXT=", "FLOTILLA_FLEET=",
			"NATS_URL="+fleet.Hub.Server().URL(), "NATS_CREDS="+fleet.Hub.Server().OperatorCreds())
		out, err := shell.CombinedOutput()
		cancel()
		want := 0
		if strings.Contains(line, "flotilla plan") {
			want = 1
		}
		require.Equal(t, want, shell.ProcessState.ExitCode(), "$ %s\n%s%v", line, out, err)
		said[line] = string(out)
	}
	for line, want := range map[string]string{
		"flotilla run status first":             "Completed  1/1",
		"flotilla run status to-1-36-4 --watch": "run to-1-36-4 Completed",
		"flotilla get gates":                    "Approval   Pending",
		"flotilla get runs":                     "auto-stable-full-",
		"flotilla run generate stable":          "auto-stable-full-",
		"flotilla windows berlin":               "Europe/Berlin",
		"flotilla get strategies":               "weekend",
	} {
		require.Contains(t, said[line], want, "$ %s", line)
	}
}

// devFleet is the fleet of --dev, its upgrades quickened.
func devFleet(t *testing.T) *dev.Fleet {
	t.Helper()
	members, err := dev.ExampleMembers()
	require.NoError(t, err)
	for i := range members {
		members[i].Upgrade.Memory.ControlPlane = configs.Duration(200 * time.Millisecond)
		members[i].Upgrade.Memory.NodePool = configs.Duration(200 * time.Millisecond)
	}
	fleet, err := dev.Start(t.Context(), dev.Options{
		Hub: hubd.Options{Server: &bus.ServerOptions{Dir: t.TempDir(), Port: -1}, Log: zerolog.Nop(), Now: elsewhen.Now}, Members: members, Log: zerolog.Nop(),
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, fleet.Stop()) })
	require.NoError(t, fleet.AdmitExamples(t.Context()))
	bustest.Eventually(t, func() error {
		var answer api.ListResponse
		if err := bus.Request(t.Context(), fleet.Client, api.VerbList, api.ListRequest{Kind: api.KindMemberCluster}, &answer, bus.RequestOptions{}); err != nil {
			return err
		}
		ready := 0
		for _, item := range answer.Items {
			var m api.MemberCluster
			if err := json.Unmarshal(item, &m); err != nil {
				return err
			}
			if m.Status != nil && m.Status.State == api.MemberReady && m.Status.Inventory != nil {
				ready++
			}
		}
		if ready != len(members) {
			return fmt.Errorf("%d members of %d are ready, with their inventory", ready, len(members))
		}
		return nil
	})
	return fleet
}
