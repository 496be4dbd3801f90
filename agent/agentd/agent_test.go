package agentd

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"flotilla/agent/target/memory"
	"flotilla/bus/bustest"
	"flotilla/bus/store"
	"flotilla/configs"
	"flotilla/core/api"
	"flotilla/tests/elsewhen"
)

func TestTwoAgentsRunInOneProcess(t *testing.T) {
	server := bustest.Start(t)
	store := server.Lead(t)
	before := goleak.IgnoreCurrent()
	var agents []*Agent
	for _, name := range []string{"berlin", "paris"} {
		a, err := New(options(t, server, name))
		require.NoError(t, err)
		require.NoError(t, a.Start(t.Context()))
		require.ErrorContains(t, a.Start(t.Context()), "started already")
		agents = append(agents, a)
	}
	for _, a := range agents {
		h := expect(t, store, a.Member(), func(h api.Heartbeat) bool { return h.Healthy })
		require.Equal(t, "eu", h.Labels["region"])
		require.Equal(t, "westeurope", h.Labels[api.LabelLocation])
		require.Equal(t, "3", h.Properties[api.PropertyNodeCount])
		require.Equal(t, "12", h.Properties[api.PropertyResourcePrefix+"total-cpu"])
		require.Equal(t, "0.050", h.Properties[api.PropertyCPUCost])
	}
	for _, a := range agents {
		require.NoError(t, a.Stop())
		require.NoError(t, a.Stop())
	}
	bustest.LeftNothing(t, before)
}

func TestFaultsComeFromTheFile(t *testing.T) {
	server := bustest.Start(t)
	store := server.Lead(t)
	o := options(t, server, "berlin")
	o.Config.Target.Memory.Faults = []string{"fail=Job"}
	a := start(t, o)
	expect(t, store, "berlin", func(h api.Heartbeat) bool { return h.Healthy })
	path := filepath.Join(o.Config.DataDir, FaultsFile)
	require.NoError(t, os.WriteFile(path, []byte("down\n"), 0o600))
	h := expect(t, store, "berlin", func(h api.Heartbeat) bool { return !h.Healthy })
	require.Contains(t, h.Message, "does not answer")
	require.NoError(t, os.WriteFile(path, []byte("upside-down\n"), 0o600))
	require.NoError(t, os.Remove(path))
	expect(t, store, "berlin", func(h api.Heartbeat) bool { return h.Healthy })
	require.Same(t, a.memory, a.Memory())
}

func TestGivenTargetIsUsedAndLeftAlone(t *testing.T) {
	server := bustest.Start(t)
	store := server.Lead(t)
	o := options(t, server, "berlin")
	given := memory.New(memory.Options{Name: "given", KubernetesVersion: "v9", Clock: memory.Running(elsewhen.Now)})
	o.Target = given
	a := start(t, o)
	require.Same(t, given, a.Memory())
	expect(t, store, "berlin", func(h api.Heartbeat) bool { return h.KubernetesVersion == "v9" && h.Nodes == 0 })
}

func TestMetrics(t *testing.T) {
	server := bustest.Start(t)
	o := options(t, server, "berlin")
	o.Config.MetricsAddress = "127.0.0.1:0"
	a := start(t, o)
	bustest.Eventually(t, func() error { return says(a, `flotilla_agent_connected{member="berlin"} 1`) })
}

func TestWhatIsWrongIsSaidBeforeAnythingRuns(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct {
		change func(*Options)
		want   string
	}{
		"no member":     {func(o *Options) { o.Config.Member = "" }, "--member NAME"},
		"a bad name":    {func(o *Options) { o.Config.Member = "Berlin!" }, "member: found"},
		"a bad fault":   {func(o *Options) { o.Config.Target.Memory.Faults = []string{"sideways"} }, "sideways"},
		"a bad label":   {func(o *Options) { o.Config.Labels = map[string]string{"a b": "c"} }, "labels"},
		"several":       {func(o *Options) { o.Config.Member, o.Config.Fleet = "B", "F" }, "fleet: found"},
		"no such creds": {func(o *Options) { o.Config.Bus.Creds = filepath.Join(dir, "none.creds") }, "flotilla member enrol"},
		"metrics taken": {func(o *Options) { o.Config.MetricsAddress = "256.0.0.1:1" }, "metricsAddress"},
	} {
		config := configs.DefaultAgent()
		config.Member, config.DataDir, config.Bus.URL = "berlin", filepath.Join(dir, strings.ReplaceAll(name, " ", "-")), "nats://127.0.0.1:1"
		o := Options{Config: config, Log: zerolog.Nop()}
		c.change(&o)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		a, err := New(o)
		if err == nil {
			err = a.Start(t.Context())
		}
		require.ErrorContains(t, err, c.want, name)
		require.Error(t, Run(ctx, o), name)
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	server := bustest.Start(t)
	before := goleak.IgnoreCurrent()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	o := options(t, server, "berlin")
	go func() { done <- Run(ctx, o) }()
	bustest.Eventually(t, func() error {
		_, err := os.Stat(filepath.Join(o.Config.DataDir, "state.json"))
		return err
	})
	cancel()
	require.NoError(t, <-done)
	bustest.LeftNothing(t, before)
}

func options(t *testing.T, server *bustest.Server, member string) Options {
	t.Helper()
	config := configs.DefaultAgent()
	config.Member, config.Fleet, config.DataDir = member, bustest.Fleet, t.TempDir()
	config.Labels, config.Location = map[string]string{"region": "eu"}, "westeurope"
	config.HeartbeatInterval = configs.Duration(time.Second)
	bus := server.AgentOptions(t, member)
	config.Bus.URL = bus.URL
	return Options{Config: config, CredsText: bus.CredsText, Log: zerolog.Nop(), Now: elsewhen.Now}
}

func start(t *testing.T, o Options) *Agent {
	t.Helper()
	a, err := New(o)
	require.NoError(t, err)
	require.NoError(t, a.Start(t.Context()))
	t.Cleanup(func() { require.NoError(t, a.Stop()) })
	return a
}

func expect(t *testing.T, store *store.Store, member string, holds func(api.Heartbeat) bool) api.Heartbeat {
	t.Helper()
	var last api.Heartbeat
	bustest.Eventually(t, func() error {
		entry, ok := store.Heartbeats.Get(member)
		if !ok {
			return fmt.Errorf("no heartbeat of %s", member)
		}
		last = api.Heartbeat{}
		if err := json.Unmarshal(entry.Value, &last); err != nil {
			return err
		}
		if !holds(last) {
			return fmt.Errorf("heartbeat is %+v", last)
		}
		return nil
	})
	return last
}
