package bus_test

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/core/api"
)

// crowded is a service whose plans are answered once they are let go.
type crowded struct {
	running, most atomic.Int64
	service       *bus.Service
	letGo         chan struct{}
	release       func()

	mu       sync.Mutex
	heldBack map[string]int
}

// stopping are the verbs by which an admin stops what happens, or keeps somebody out.
var stopping = []string{api.VerbFreeze, api.VerbUnfreeze, api.VerbUserRevoke, api.VerbMemberRevoke}

func startCrowded(t *testing.T, hub *bus.Conn) *crowded {
	t.Helper()
	c := &crowded{letGo: make(chan struct{}), heldBack: map[string]int{}}
	c.release = sync.OnceFunc(func() { close(c.letGo) })
	o := bus.ServiceOptions{Version: "1.2.3", Replica: "hub-0", Keys: bustest.Keys(), HeldBack: func(person string) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.heldBack[person]++
	}}
	verbs := map[string]bus.Handler{api.VerbGet: echo, api.VerbPlan: c.plan}
	for _, verb := range stopping {
		verbs[verb] = echo
	}
	var err error
	c.service, err = bus.Serve(context.WithoutCancel(t.Context()), hub, o, verbs)
	require.NoError(t, err)
	t.Cleanup(c.service.Stop)
	t.Cleanup(c.release)
	require.NoError(t, hub.NC.Flush())
	return c
}

func (c *crowded) plan(context.Context, api.Caller, []byte) (any, error) {
	now := c.running.Add(1)
	defer c.running.Add(-1)
	for most := c.most.Load(); now > most && !c.most.CompareAndSwap(most, now); most = c.most.Load() {
	}
	<-c.letGo
	return "planned", nil
}

// flood sends requests of one person without waiting for answers, which are counted by their code; "" is of those that are no refusal.
func flood(t *testing.T, c *bus.Conn, verb string, requests int) (answered func() map[string]int) {
	t.Helper()
	inbox := c.NC.NewInbox()
	var mu sync.Mutex
	codes := map[string]int{}
	_, err := c.NC.Subscribe(inbox, func(m *nats.Msg) {
		mu.Lock()
		defer mu.Unlock()
		codes[m.Header.Get(micro.ErrorCodeHeader)]++
	})
	require.NoError(t, err)
	for i := range requests {
		m := plain(c, verb)
		m.Header.Set(bus.HeaderRequest, fmt.Sprint(i))
		m.Reply = inbox
		require.NoError(t, c.NC.PublishMsg(m))
	}
	require.NoError(t, c.NC.Flush())
	return func() map[string]int {
		mu.Lock()
		defer mu.Unlock()
		return maps.Clone(codes)
	}
}

// Whoever asks without end has few requests that run, is refused beyond some that wait, and keeps nobody else from the hub.
func TestOnePersonLeavesRoomForOthers(t *testing.T) {
	server := bustest.Start(t)
	c := startCrowded(t, server.Hub(t))
	vic, eve := server.Person(t, "vic", api.RoleViewer), server.Person(t, "eve", api.RoleOperator)
	answered := flood(t, vic, api.VerbPlan, 200)
	bustest.Eventually(t, func() error {
		if codes := answered(); codes[api.CodeUnavailable] != 136 || c.running.Load() != 4 {
			return fmt.Errorf("refusals: %v, running: %d", codes, c.running.Load())
		}
		return nil
	})
	var got api.GetRequest
	require.NoError(t, bus.Request(bustest.Context(t), eve, api.VerbGet, api.GetRequest{Name: "web"}, &got, bus.RequestOptions{}), "while vic's wait")
	require.Equal(t, "web", got.Name)
	require.Zero(t, answered()[""])
	c.release()
	bustest.Eventually(t, func() error {
		if codes := answered(); codes[""] != 64 {
			return fmt.Errorf("answers: %v", codes)
		}
		return nil
	})
	require.EqualValues(t, 4, c.most.Load())
	require.NoError(t, bus.Request(bustest.Context(t), vic, api.VerbPlan, api.PlanRequest{}, nil, bus.RequestOptions{}), "nobody is held back for ever")
	c.mu.Lock()
	defer c.mu.Unlock()
	require.Equal(t, map[string]int{"vic": 136}, c.heldBack)
}

// Whoever freezes or revokes finds a place while the requests of others take all, whichever way it comes, and the key of the hub, which a client
// asks for before (H36).
func TestWhoFreezesFindsAPlaceWhileOthersTakeAll(t *testing.T) {
	server := bustest.Start(t)
	c := startCrowded(t, server.Hub(t))
	for i := range 8 {
		flood(t, server.Person(t, fmt.Sprint("vic", i), api.RoleViewer), api.VerbPlan, 8)
	}
	bustest.Eventually(t, func() error {
		if c.running.Load() != 32 {
			return fmt.Errorf("running: %d", c.running.Load())
		}
		return nil
	})
	ada := server.Person(t, "ada", api.RoleAdmin) // who has no key of the hub yet
	other := bus.NewForwarder(server.Hub(t), bustest.Keys())
	for _, verb := range stopping {
		require.NoError(t, bus.Request(bustest.Context(t), ada, verb, struct{}{}, nil, bus.RequestOptions{}), verb)
		by := api.Caller{Name: "ada", Role: api.RoleAdmin}
		_, err := other.Ask(bustest.Context(t), by, verb, []byte(`{}`))
		require.NoError(t, err, verb)
		_, err = c.service.Ask(bustest.Context(t), by, verb, []byte(`{}`))
		require.NoError(t, err, verb)
	}
	require.EqualValues(t, 32, c.running.Load())
}
