package watch_test

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/watch"
	"flotilla/core/api"
	"flotilla/subjects"

	"github.com/stretchr/testify/require"
)

// The fleet of the benchmarks: 100,000 nodes.
const (
	benchMembers = 100
	benchNodes   = 1000
)

// tally is a sink that counts.
type tally struct {
	nodes, bytes atomic.Int64
}

func (c *tally) Node(_, _ string, state watch.Stored, _ time.Time) {
	body, err := state.JSON()
	if err != nil {
		panic(err) // nodeBody can be read
	}
	c.nodes.Add(1)
	c.bytes.Add(int64(len(body)))
}
func (c *tally) NodeGone(string, string)                       {}
func (c *tally) Inventory(string, watch.Stored, time.Duration) {}
func (c *tally) InventoryGone(string)                          {}
func (c *tally) Listed()                                       {}

// nodeBody is the state of a node with ten pods, about 2 KB.
func nodeBody(b *testing.B) []byte {
	b.Helper()
	e := api.NodeEvent{Header: api.NewHeader(api.KindNodeEvent), Member: "m1", Boot: "b1", Sequence: 1, Node: api.NodeState{
		Name: "n1", Labels: map[string]string{"karpenter.sh/nodepool": "general", "topology.kubernetes.io/zone": "west-1"},
		Allocatable: api.Amounts{"cpu": 3900, "memory": 15 << 30, "pods": 110}, Managed: true, Ready: true, Initialized: true,
	}}
	for i := range 10 {
		e.Node.Pods = append(e.Node.Pods, api.PodState{
			Namespace: "default", Name: fmt.Sprintf("web-6c7d9f-%05d", i), Owner: "ReplicaSet", OwnerName: "web-6c7d9f",
			Labels: map[string]string{"app": "web"}, Requests: api.Amounts{"cpu": 250, "memory": 512 << 20},
		})
	}
	body, err := json.Marshal(e)
	require.NoError(b, err)
	return body
}

// BenchmarkNodeFeed lists the nodes of a whole fleet from the stream; the sink is told of
// every node. Memory is what the feed itself keeps.
func BenchmarkNodeFeed(b *testing.B) {
	server := bustest.Start(b)
	server.Lead(b)
	c := server.Hub(b)
	body := nodeBody(b)
	for member := range benchMembers {
		for node := range benchNodes {
			_, err := c.JS.PublishAsync(c.Fleet.NodeEvent(fmt.Sprintf("m%d", member), fmt.Sprintf("n%d", node)), body)
			require.NoError(b, err)
		}
		<-c.JS.PublishAsyncComplete()
	}
	b.Run("list", func(b *testing.B) {
		for b.Loop() {
			list(b, c, &tally{})
		}
		b.ReportMetric(float64(benchMembers*benchNodes*b.N)/b.Elapsed().Seconds(), "nodes/s")
		b.ReportMetric(float64(len(body)), "B/node")
	})
	b.Run("memory", func(b *testing.B) {
		f := subjects.Fleet{Name: bustest.Fleet}
		before := heap()
		n := watch.NewNodeFeed(&bus.Conn{Fleet: f}, &tally{})
		for member := range benchMembers {
			for node := range benchNodes {
				n.Deliver(f.NodeEvent(fmt.Sprintf("m%d", member), fmt.Sprintf("n%d", node)), body, uint64(1+member*benchNodes+node))
			}
		}
		b.ReportMetric(float64(heap()-before)/(benchMembers*benchNodes), "B-kept/node")
		require.Len(b, n.Members(), benchMembers)
	})
}

func list(b *testing.B, c *bus.Conn, sink *tally) {
	b.Helper()
	n := watch.NewNodeFeed(c, sink)
	done := make(chan struct{})
	ctx, cancel := context.WithCancel(b.Context())
	go func() { n.Run(ctx); close(done) }()
	require.NoError(b, n.WaitSynced(ctx))
	cancel()
	<-done
	require.Equal(b, int64(benchMembers*benchNodes), sink.nodes.Load())
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
