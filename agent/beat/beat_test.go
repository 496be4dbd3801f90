package beat

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"flotilla/agent/target"
	"flotilla/agent/target/memory"
	"flotilla/agent/target/memory/faults"
	"flotilla/bus/bustest"
	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/tests/elsewhen"
)

// ofTheAgent is what only an agent and its connection run: what else begins meanwhile is the hub's and the server's.
var ofTheAgent = regexp.MustCompile(`flotilla/agent/|nats(%2e|\.)go\.\(\*Conn\)\.(readLoop|flusher)`)

func TestHeartbeatsSayHowTheMemberDoes(t *testing.T) {
	server := bustest.Start(t)
	store := server.Lead(t)
	m := newMember(t)
	before := goleak.IgnoreCurrent()
	conn := server.Agent(t, "berlin")
	stop := run(t, New(Options{
		Member: "berlin", Hub: conn, Target: m, Version: "v1", Interval: time.Hour, Namespaces: true,
		Labels:     map[string]string{"region": "eu"},
		Properties: map[string]string{"example.org/gpus": "3", api.PropertyCPUCost: "0.5"},
		Sources: Sources{
			Holds:    func() api.Order { return api.Order{Epoch: 1, Term: 2, Generation: 3} },
			Unlisted: func() []string { return []string{"old"} },
			Trouble:  func() string { return "the disk is full" },
		},
		Log: zerolog.Nop(),
	}))
	first := expect(t, store, func(api.Heartbeat) bool { return true })
	require.NotEmpty(t, first.Boot)
	want := api.Heartbeat{
		Header: api.NewHeader(api.KindHeartbeat), Member: "berlin", Boot: first.Boot, Sequence: 1, AgentVersion: "v1",
		KubernetesVersion: "v1.36.3", IntervalSeconds: 3600, Labels: map[string]string{"region": "eu"}, Nodes: 1,
		Properties: map[string]string{
			"kubernetes-fleet.io/node-count":                   "1",
			"resources.kubernetes-fleet.io/total-cpu":          "4",
			"resources.kubernetes-fleet.io/allocatable-cpu":    "4",
			"resources.kubernetes-fleet.io/available-cpu":      "4",
			"resources.kubernetes-fleet.io/total-memory":       "16Gi",
			"resources.kubernetes-fleet.io/allocatable-memory": "16Gi",
			"resources.kubernetes-fleet.io/available-memory":   "16Gi",
			"kubernetes.azure.com/per-cpu-core-cost":           "0.5",
			"example.org/gpus":                                 "3",
		},
		Namespaces: []string{"default", "kube-node-lease", "kube-public", "kube-system"},
		Healthy:    true, Message: "the disk is full",
		Holds: api.Order{Epoch: 1, Term: 2, Generation: 3}, Unlisted: []string{"old"}, Sent: first.Sent,
	}
	require.Equal(t, want, first)
	require.InDelta(t, elsewhen.Now().UnixMilli(), first.Sent, float64(time.Minute/time.Millisecond))

	m.AddNode(node(t, "b"))
	expect(t, store, func(h api.Heartbeat) bool { return h.Nodes == 2 })
	require.True(t, m.RemoveNode("b"))
	expect(t, store, func(h api.Heartbeat) bool { return h.Nodes == 1 })
	m.AddNode(node(t, "b"))
	second := expect(t, store, func(h api.Heartbeat) bool { return h.Nodes == 2 })
	require.Equal(t, "8", second.Properties[api.PropertyResourcePrefix+"total-cpu"])
	m.SetFaults(faults.Faults{Down: true})
	down := expect(t, store, func(h api.Heartbeat) bool { return !h.Healthy })
	require.Contains(t, down.Message, "does not answer")
	require.Equal(t, second.Properties, down.Properties, "what was last seen stays")
	require.Greater(t, down.Sequence, second.Sequence)
	m.SetFaults(faults.Faults{})
	expect(t, store, func(h api.Heartbeat) bool { return h.Healthy })

	stop()
	conn.Close()
	bustest.Eventually(t, func() error {
		if err := goleak.Find(before); err != nil && ofTheAgent.MatchString(err.Error()) {
			return err
		}
		return nil
	})
}

// What the member does not permit its agent is in the heartbeat, of much the beginning.
func TestHeartbeatsSayWhatIsNotPermitted(t *testing.T) {
	server := bustest.Start(t)
	store := server.Lead(t)
	var missing []string
	for i := range maxForbidden + 5 {
		missing = append(missing, fmt.Sprintf("list secrets in namespace n%02d", i))
	}
	run(t, New(Options{
		Member: "berlin", Hub: server.Agent(t, "berlin"), Target: newMember(t), Interval: time.Hour, Log: zerolog.Nop(),
		Sources: Sources{Forbidden: func() []string { return missing }},
	}))
	said := expect(t, store, func(api.Heartbeat) bool { return true })
	require.Equal(t, missing[:maxForbidden], said.Forbidden)
	require.True(t, said.Healthy, "the rest of its work goes on")
}

func TestHeartbeatsKeepComing(t *testing.T) {
	server := bustest.Start(t)
	store := server.Lead(t)
	run(t, New(Options{Member: "berlin", Hub: server.Agent(t, "berlin"), Target: newMember(t), Interval: 10 * time.Millisecond, Log: zerolog.Nop()}))
	first := expect(t, store, func(api.Heartbeat) bool { return true })
	begun := elsewhen.Now()
	third := expect(t, store, func(h api.Heartbeat) bool { return h.Sequence >= 3 })
	require.Equal(t, first.Boot, third.Boot)
	require.GreaterOrEqual(t, elsewhen.Since(begun), hurry, "never more often than once a second")

	run(t, New(Options{Member: "paris", Hub: server.Agent(t, "paris"), Target: newMember(t), Log: zerolog.Nop()}))
	bustest.Eventually(t, func() error {
		h, err := read(store, "paris")
		if err == nil && (h.IntervalSeconds != 15 || h.Boot == first.Boot) {
			err = fmt.Errorf("heartbeat %+v", h)
		}
		return err
	})
}

func run(t *testing.T, b *Beat) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); b.Run(ctx) }()
	stop = func() { cancel(); <-done }
	t.Cleanup(stop)
	return stop
}

func read(store *store.Store, member string) (api.Heartbeat, error) {
	var h api.Heartbeat
	entry, ok := store.Heartbeats.Get(member)
	if !ok {
		return h, fmt.Errorf("no heartbeat of %s", member)
	}
	return h, json.Unmarshal(entry.Value, &h)
}

func expect(t *testing.T, store *store.Store, holds func(api.Heartbeat) bool) api.Heartbeat {
	t.Helper()
	var last api.Heartbeat
	bustest.Eventually(t, func() error {
		h, err := read(store, "berlin")
		if err == nil && !holds(h) {
			err = fmt.Errorf("heartbeat is %+v", h)
		}
		last = h
		return err
	})
	return last
}

func newMember(t *testing.T) *memory.Member {
	t.Helper()
	m := memory.New(memory.Options{Name: "berlin", Nodes: []target.Node{node(t, "a")}, Clock: memory.Running(elsewhen.Now)})
	t.Cleanup(m.Close)
	return m
}

func node(t *testing.T, name string) target.Node {
	t.Helper()
	n, err := target.NewNode(name, "4", "16Gi")
	require.NoError(t, err)
	return n
}
