package upgrader

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"flotilla/agent/target"
	targetmemory "flotilla/agent/target/memory"
	"flotilla/agent/target/memory/provision"
	"flotilla/agent/upgrader/memory"
	"flotilla/bus/bustest"
	"flotilla/bus/member"
	"flotilla/bus/store"
	"flotilla/bus/streams"
	"flotilla/core/api"
	"flotilla/subjects"
	"flotilla/tests/elsewhen"
)

const pace = 20 * time.Millisecond

// hub speaks for the hub on a real server.
type hub struct {
	t          *testing.T
	server     *bustest.Server
	store      *store.Store
	generation uint64
	last       uint64
}

func newHub(t *testing.T) *hub {
	t.Helper()
	server := bustest.Start(t)
	return &hub{t: t, server: server, store: server.Lead(t)}
}

// command asks for an operation, or for nothing when op is nil.
func (h *hub) command(op *api.UpgradeOperation) {
	h.t.Helper()
	h.generation++
	h.commandAt(api.Order{Epoch: 1, Term: 1, Generation: h.generation}, op)
}

func (h *hub) commandAt(order api.Order, op *api.UpgradeOperation) {
	h.t.Helper()
	c := api.UpgradeCommand{Header: api.NewHeader(api.KindUpgradeCommand), Member: "berlin", Order: order, Operation: op}
	head := streams.CommandHead{Member: "berlin", Kind: subjects.CommandUpgrade, Digest: fmt.Sprint(order), Order: order}
	sequence, err := h.store.Commands.Publish(h.t.Context(), head, c, h.last)
	require.NoError(h.t, err)
	h.last = sequence
}

func (h *hub) result(run string) (api.UpgradeResult, error) {
	var r api.UpgradeResult
	entry, ok := h.store.Results.Get(subjects.ResultKey("berlin", subjects.CommandUpgrade, run))
	if !ok {
		return r, fmt.Errorf("no result of %s", run)
	}
	return r, json.Unmarshal(entry.Value, &r)
}

// expect waits for a result that holds.
func (h *hub) expect(run string, holds func(api.UpgradeResult) bool) api.UpgradeResult {
	h.t.Helper()
	var last api.UpgradeResult
	bustest.Eventually(h.t, func() error {
		r, err := h.result(run)
		if last = r; err == nil && !holds(r) {
			err = fmt.Errorf("result of %s is %+v", run, r)
		}
		return err
	})
	return last
}

// outcome waits until an operation ended and checks how.
func (h *hub) outcome(op *api.UpgradeOperation, want string) api.UpgradeResult {
	h.t.Helper()
	r := h.expect(op.Run, func(r api.UpgradeResult) bool { return r.Operation == op.ID && r.Outcome != api.OutcomeRunning })
	require.Equal(h.t, want, r.Outcome, r.Message)
	require.Equal(h.t, "berlin", r.Member)
	require.Equal(h.t, api.NewHeader(api.KindUpgradeResult), r.Header)
	require.False(h.t, r.At.IsZero())
	return r
}

// told is the inventory as the server holds it: the hub follows results and inventories on two streams, so that it may
// hear of a result first.
func (h *hub) told() (*jetstream.RawStreamMsg, error) {
	c := h.store.Conn
	stream, err := c.JS.Stream(h.t.Context(), c.Fleet.Stream(subjects.Events))
	if err != nil {
		return nil, err
	}
	return stream.GetLastMsgForSubject(h.t.Context(), c.Fleet.Inventory("berlin"))
}

func (h *hub) inventory() (i api.MemberInventory, err error) {
	m, err := h.told()
	if err != nil {
		return i, err
	}
	return i, json.Unmarshal(m.Data, &i)
}

func (h *hub) expectInventory(holds func(api.MemberInventory) bool) api.MemberInventory {
	h.t.Helper()
	var last api.MemberInventory
	bustest.Eventually(h.t, func() error {
		i, err := h.inventory()
		if last = i; err == nil && !holds(i) {
			err = fmt.Errorf("inventory is %+v", i)
		}
		return err
	})
	return last
}

// newMember is a member in memory with two pools of two nodes.
func newMember(t *testing.T) *targetmemory.Member {
	t.Helper()
	o := targetmemory.Options{Clock: targetmemory.Running(elsewhen.Now), Name: "berlin", KubernetesVersion: "v1.36.3", Pools: []api.NodePoolFacts{
		{Name: "np1"}, {Name: "np2", NodeImageVersion: "AKSAzureLinux-V2gen2-202502.26.0", FromSnapshot: true},
	}}
	for _, name := range []string{"a1", "a2", "b1", "b2"} {
		node, err := target.NewNode(name, "4", "16Gi")
		require.NoError(t, err)
		node.Pool = map[byte]string{'a': "np1", 'b': "np2"}[name[0]]
		o.Nodes = append(o.Nodes, node)
	}
	m := targetmemory.New(o)
	t.Cleanup(m.Close)
	return m
}

// agent is a running upgrader with what it was made of.
type agent struct {
	u    *Upgrader
	stop func()
}

// start starts an upgrader of the member in memory; change may change its options.
func (h *hub) start(m *targetmemory.Member, data string, change ...func(*Options)) *agent {
	h.t.Helper()
	conn, err := member.Connect(h.t.Context(), h.server.AgentOptions(h.t, "berlin"), "berlin")
	require.NoError(h.t, err)
	o := Options{
		Member: "berlin", Hub: conn, Target: m, Data: data, PollEvery: time.Second,
		Driver: memory.New(m, provision.Pace{ControlPlane: pace, NodePool: pace, Images: []string{"AKSUbuntu-2204gen2containerd-202401.17.1"}}),
		Facts:  api.MemberInventory{Region: "weu"}, Checks: Checks{Settle: 300 * time.Millisecond}, Log: zerolog.Nop(),
	}
	for _, f := range change {
		f(&o)
	}
	u, err := New(o)
	require.NoError(h.t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(h.t.Context()))
	done := make(chan error, 1)
	go func() { done <- u.Run(ctx) }()
	stopped := false
	a := &agent{u: u, stop: func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		require.NoError(h.t, <-done)
		conn.Close()
	}}
	h.t.Cleanup(a.stop)
	return a
}

// full is an attempt of run r to bring both pools and the control plane to 1.37.1.
func full(attempt int) *api.UpgradeOperation {
	return &api.UpgradeOperation{
		ID: fmt.Sprintf("u1/berlin/%d", attempt), Run: "r", Attempt: attempt, Type: api.UpgradeFull, ControlPlaneVersion: "1.37.1",
		NodePools: []api.PoolUpgrade{
			{Pool: "np1", ToVersion: "1.37.1", To: "AKSUbuntu-2204gen2containerd-202401.17.1", Result: api.PoolPlanned},
			{Pool: "np2", ToVersion: "1.37.1", Result: api.PoolPlanned},
		},
		Checks: api.ChecksBlock,
	}
}
