package member_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/subjects"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

func TestNodesAreReportedAcrossTheAccounts(t *testing.T) {
	server := bustest.Start(t)
	store := server.Lead(t)
	agent := server.Agent(t, "berlin")
	f := store.Conn.Fleet

	require.NoError(t, agent.PutNodeEvent(bustest.Context(t), api.NodeEvent{Member: "paris", Sequence: 3, Node: api.NodeState{Name: "n.1"}}))
	small, body := bustest.Stored[api.NodeEvent](t, store.Conn, f.NodeEvent("berlin", "n.1"))
	require.Equal(t, byte('{'), body[0], "short ones can be read with any tool")
	require.Equal(t, api.NewHeader(api.KindNodeEvent), small.Header)
	require.Equal(t, "berlin", small.Member, "an agent speaks for its own member")
	require.Equal(t, uint64(3), small.Sequence)

	full := api.NodeEvent{Sequence: 4, Node: api.NodeState{Name: "n.1"}}
	for i := range 1000 {
		full.Node.Pods = append(full.Node.Pods, api.PodState{Namespace: "default", Name: fmt.Sprintf("web-%d", i), Owner: "ReplicaSet"})
	}
	require.NoError(t, agent.PutNodeEvent(bustest.Context(t), full))
	large, body := bustest.Stored[api.NodeEvent](t, store.Conn, f.NodeEvent("berlin", "n.1"))
	require.Equal(t, byte('z'), body[0], "long ones are packed")
	require.Less(t, len(body), bus.GzipAbove)
	require.Equal(t, full.Node, large.Node)

	require.NoError(t, agent.PutNodeInventory(bustest.Context(t), api.NodeInventory{Boot: "b1", Nodes: map[string]uint64{"n.1": 4}}))
	inventory, _ := bustest.Stored[api.NodeInventory](t, store.Conn, f.NodeInventory("berlin"))
	require.Equal(t, api.NodeInventory{
		Header: api.NewHeader(api.KindNodeInventory), Member: "berlin", Boot: "b1", Nodes: map[string]uint64{"n.1": 4},
	}, inventory)
}

// labels are so many bytes of values that are as long as one text may be.
func labels(size int, char func() byte) map[string]string {
	out := map[string]string{}
	value := make([]byte, 2<<10)
	for i := range size / len(value) {
		for j := range value {
			value[j] = char()
		}
		out[fmt.Sprint("label-", i)] = string(value)
	}
	return out
}

func TestAStateOfNodesThatIsTooLargeIsRefused(t *testing.T) {
	server := bustest.Start(t)
	server.Lead(t)
	agent := server.Agent(t, "berlin")
	random := rand.New(rand.NewPCG(1, 2))
	noise := labels(2*bus.MaxNodeEvent, func() byte { return byte(' ' + random.IntN(90)) })
	err := agent.PutNodeEvent(bustest.Context(t), api.NodeEvent{Node: api.NodeState{Name: "n1", Labels: noise}})
	require.ErrorIs(t, err, bus.ErrTooLarge)
	require.ErrorContains(t, err, "state of node n1")
	err = agent.PutNodeInventory(bustest.Context(t), api.NodeInventory{Namespaces: map[string]map[string]string{"shop": noise}})
	require.ErrorIs(t, err, bus.ErrTooLarge)
	plain := api.NodeEvent{Node: api.NodeState{Name: "n1", Labels: labels(2*bus.MaxNodeEvent, func() byte { return 'x' })}}
	require.NoError(t, agent.PutNodeEvent(bustest.Context(t), plain), "what counts is the size it is stored in")
}

func TestAnAgentReadsBackWhatItToldOfNodes(t *testing.T) {
	server := bustest.Start(t)
	store := server.Lead(t)
	agent, other := server.Agent(t, "berlin"), server.Agent(t, "paris")
	_, err := agent.NodeEvent(bustest.Context(t), "n.1")
	require.ErrorIs(t, err, bus.ErrNotFound)
	_, err = agent.NodeInventory(bustest.Context(t))
	require.ErrorIs(t, err, bus.ErrNotFound)

	require.NoError(t, agent.PutNodeEvent(bustest.Context(t), api.NodeEvent{Boot: "b1", Sequence: 3, Node: api.NodeState{Name: "n.1", Labels: labels(bus.GzipAbove, func() byte { return 'l' })}}))
	require.NoError(t, agent.PutNodeInventory(bustest.Context(t), api.NodeInventory{Boot: "b1", Sequence: 7}))
	e, err := agent.NodeEvent(bustest.Context(t), "n.1")
	require.NoError(t, err)
	require.Equal(t, uint64(3), e.Sequence)
	require.Len(t, e.Node.Labels, bus.GzipAbove/(2<<10))
	i, err := agent.NodeInventory(bustest.Context(t))
	require.NoError(t, err)
	require.Equal(t, uint64(7), i.Sequence)

	f := store.Conn.Fleet
	_, err = other.NodeInventory(bustest.Context(t))
	require.ErrorIs(t, err, bus.ErrNotFound, "each member has its own")
	stream, err := store.Conn.JS.Stream(bustest.Context(t), f.Stream(subjects.Events))
	require.NoError(t, err)
	require.NoError(t, stream.Purge(bustest.Context(t), jetstream.WithPurgeSubject(f.NodeEvent("berlin", "n.1"))))
	_, err = agent.NodeEvent(bustest.Context(t), "n.1")
	require.ErrorIs(t, err, bus.ErrNotFound)
}
