package command

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"flotilla/bus/bustest"
	"flotilla/core/api"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// provider runs shell texts in a folder of its own.
func provider(t *testing.T, launch, remove, exists string) *Provider {
	t.Helper()
	shell := func(text string) []string {
		if text == "" {
			return nil
		}
		return []string{"/bin/sh", "-c", text}
	}
	p, err := New(Options{
		Member: "berlin", Launch: shell(launch), Delete: shell(remove), Exists: shell(exists), Directory: t.TempDir(),
		Environment: map[string]string{"REGION": "weu"}, Timeout: time.Minute, Grace: 100 * time.Millisecond,
	})
	require.NoError(t, err)
	return p
}

func (p *Provider) read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(p.o.Directory, name))
	require.NoError(t, err)
	return string(text)
}

func wanted() api.NodeLaunch {
	return api.NodeLaunch{
		Name: "d1-0", Member: "berlin", Pool: "general", InstanceTypes: []string{"d4", "d8"},
		Requirements: []api.NodeRequirement{
			{Key: "topology.kubernetes.io/zone", Operator: "In", Values: []string{"z-a", "z-b"}}, {Key: api.LabelCapacityType, Operator: "NotIn", Values: []string{"spot"}},
		},
		Labels: map[string]string{"team": "web"},
	}
}

// A command learns what it needs to know, as JSON and in variables, and nothing that was meant for another.
func TestACommandIsTold(t *testing.T) {
	t.Setenv("FLOTILLA_SUPERVISOR", "not for you")
	p := provider(t, "cat > input; env | grep -e FLOTILLA_ -e REGION | sort > variables; echo pool-7", "cat > input; env | grep FLOTILLA_ | sort > variables", "")
	out, err := p.Launch(t.Context(), wanted())
	require.NoError(t, err)
	require.Equal(t, api.LaunchedNode{Node: "pool-7"}, out)
	var read api.NodeLaunch
	require.NoError(t, json.Unmarshal([]byte(p.read(t, "input")), &read))
	require.Equal(t, wanted(), read)
	require.Equal(t, []string{
		"FLOTILLA_CAPACITY_TYPES=", "FLOTILLA_INSTANCE_TYPES=d4 d8", "FLOTILLA_LAUNCH=d1-0", "FLOTILLA_MEMBER=berlin",
		"FLOTILLA_NODE_POOL=general", "FLOTILLA_ZONES=z-a z-b", "REGION=weu",
	}, strings.Split(strings.TrimSpace(p.read(t, "variables")), "\n"))

	m := api.NodeMachine{Member: "berlin", Node: "pool-7", ProviderID: "azure:///7", Launch: "d1-0"}
	gone, err := p.Delete(t.Context(), m)
	require.NoError(t, err)
	require.True(t, gone)
	var machine api.NodeMachine
	require.NoError(t, json.Unmarshal([]byte(p.read(t, "input")), &machine))
	require.Equal(t, m, machine)
	require.Equal(t, []string{"FLOTILLA_LAUNCH=d1-0", "FLOTILLA_MEMBER=berlin", "FLOTILLA_NODE=pool-7", "FLOTILLA_PROVIDER_ID=azure:///7"},
		strings.Split(strings.TrimSpace(p.read(t, "variables")), "\n"))
}

func TestAnswersOfLaunch(t *testing.T) {
	for name, row := range map[string]struct {
		script, fault string
		want          api.LaunchedNode
	}{
		"a name":            {"echo noise >&2; echo ' n1 '", "", api.LaunchedNode{Node: "n1"}},
		"JSON":              {`echo '{"providerID": "azure:///1", "labels": {"a": "b"}}'`, "", api.LaunchedNode{ProviderID: "azure:///1", Labels: map[string]string{"a": "b"}}},
		"it says it fails":  {`echo '{"failed": "no quota"}'`, "", api.LaunchedNode{Failed: "no quota"}},
		"it fails":          {"echo one >&2; echo two >&2; echo three >&2; echo no capacity >&2; exit 3", "", api.LaunchedNode{Failed: "/bin/sh ended with exit code 3: two | three | no capacity"}},
		"try later":         {"echo busy >&2; exit 75", "/bin/sh asks to try again later: busy", api.LaunchedNode{}},
		"nothing":           {"true", "it printed nothing", api.LaunchedNode{}},
		"a sentence":        {"echo made node n1", "a name has no spaces", api.LaunchedNode{}},
		"broken JSON":       {"echo '{node: n1}'", `is to print the name of the node, or {"node": "…"`, api.LaunchedNode{}},
		"too much":          {"head -c 70000 /dev/zero | tr '\\0' x", "/bin/sh printed more than 65536 bytes", api.LaunchedNode{}},
		"it leaves a child": {"sleep 600 & echo n1", "", api.LaunchedNode{Node: "n1"}},
		"a signal":          {"echo dying >&2; kill -9 $$", "running /bin/sh: signal: killed: dying", api.LaunchedNode{}},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := provider(t, row.script, "true", "").Launch(t.Context(), wanted())
			if row.fault == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, row.fault)
			}
			require.Equal(t, row.want, out)
		})
	}
}

func TestAnswersOfDeleteAndExists(t *testing.T) {
	for name, row := range map[string]struct {
		remove, exists, fault string
		gone                  bool
	}{
		"gone":                    {"echo deleted", "", "", true},
		"on its way":              {`echo '{"gone": false}'`, "", "", false},
		"try later":               {"exit 75", "echo false", "", false},
		"it fails":                {"echo locked >&2; exit 1", "echo false", "/bin/sh ended with exit code 1: locked", false},
		"gone, says another":      {"true", "echo false", "", true},
		"still there":             {"true", "echo true", "", false},
		"nobody knows":            {"true", "echo maybe", `/bin/sh printed "maybe", expected true or false`, false},
		"it cannot be looked for": {"true", "exit 4", "/bin/sh ended with exit code 4", false},
		"broken JSON":             {"echo '{gone}'", "", `is to print nothing, or {"gone": false}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			gone, err := provider(t, "true", row.remove, row.exists).Delete(t.Context(), api.NodeMachine{Node: "n1"})
			if row.fault == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, row.fault)
			}
			require.Equal(t, row.gone, gone)
		})
	}
	gone, err := provider(t, "true", "true", "").Gone(t.Context(), api.NodeMachine{Node: "n1"})
	require.NoError(t, err)
	require.False(t, gone, "without a command that looks nothing is known to be gone")
}

// A command that takes too long, or whose agent ends, is ended with all it started.
func TestCommandsAreEnded(t *testing.T) {
	const script = "trap '' TERM; sleep 600 & echo $! > child; echo $$ > self; while :; do sleep 0.05; done"
	lives := func(p *Provider, name string) bool {
		pid, err := strconv.Atoi(strings.TrimSpace(p.read(t, name)))
		require.NoError(t, err)
		return syscall.Kill(pid, 0) == nil && !zombie(pid)
	}
	requireEnded := func(t *testing.T, p *Provider) {
		t.Helper()
		bustest.Eventually(t, func() error {
			if lives(p, "self") || lives(p, "child") {
				return errors.New("a process lives")
			}
			return nil
		})
	}
	t.Run("too long", func(t *testing.T) {
		p := provider(t, script, "true", "")
		p.o.Timeout = 300 * time.Millisecond
		_, err := p.Launch(t.Context(), wanted())
		require.ErrorContains(t, err, "/bin/sh took longer than 300ms and was ended with all it had started")
		requireEnded(t, p)
	})
	t.Run("too long without grace", func(t *testing.T) {
		p := provider(t, script, "true", "")
		p.o.Timeout, p.o.Grace = 300*time.Millisecond, 0
		_, err := p.Launch(t.Context(), wanted())
		require.ErrorContains(t, err, "took longer than 300ms")
		requireEnded(t, p)
	})
	t.Run("the agent ends", func(t *testing.T) {
		p := provider(t, script, "true", "")
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			_, err := p.Launch(ctx, wanted())
			done <- err
		}()
		bustest.Eventually(t, func() error {
			_, err := os.Stat(filepath.Join(p.o.Directory, "self"))
			return err
		})
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
		requireEnded(t, p)
	})
}

func zombie(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(state, "Z")
}

func TestCommandsThatCannotBe(t *testing.T) {
	_, err := New(Options{Delete: []string{"true"}})
	require.EqualError(t, err, "nodes.exec.launch: found nothing, expected a command")
	_, err = New(Options{Launch: []string{"true"}, Delete: []string{"./none.sh"}, Directory: t.TempDir()})
	require.ErrorContains(t, err, `nodes.exec.delete: the command "./none.sh" cannot be run`)
}
