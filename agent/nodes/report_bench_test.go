package nodes

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"flotilla/agent/target"
	targetmemory "flotilla/agent/target/memory"
	"flotilla/core/api"
	"flotilla/core/cluster"
	"flotilla/tests/elsewhen"
)

// BenchmarkLook is a look at a member of 1,000 nodes with 10 pods each in which nothing changed.
func BenchmarkLook(b *testing.B) {
	o := targetmemory.Options{Clock: targetmemory.Running(elsewhen.Now), Name: watched}
	for i := range 1000 {
		n, err := target.NewNode(fmt.Sprintf("n%04d", i), "10", "64Gi")
		require.NoError(b, err)
		n.NodePool = "default"
		o.Nodes = append(o.Nodes, n)
	}
	m := targetmemory.New(o)
	b.Cleanup(m.Close)
	put(b, m, web(10_000))
	w, err := newReporter(&Options{Member: watched, Target: m, Interval: time.Second, Resync: time.Hour, Log: zerolog.Nop()}, b.TempDir())
	require.NoError(b, err)
	w.now = elsewhen.Now
	require.NoError(b, w.look(b.Context()))
	b.ResetTimer()
	for b.Loop() {
		require.NoError(b, w.look(b.Context()))
	}
	e, due := w.sync.Event("n0999")
	require.True(b, due)
	require.Len(b, e.Node.Pods, 10)
}

// BenchmarkLookAtAChange is a look at a member of two nodes with 60 pods together, of which one came or went since: what
// an agent does after each delivery.
func BenchmarkLookAtAChange(b *testing.B) {
	o := targetmemory.Options{Clock: targetmemory.Running(elsewhen.Now), Name: watched}
	for i := range 2 {
		n, err := target.NewNode(fmt.Sprintf("n%d", i), "64", "256Gi")
		require.NoError(b, err)
		o.Nodes = append(o.Nodes, n)
	}
	m := targetmemory.New(o)
	b.Cleanup(m.Close)
	put(b, m, web(60))
	w, err := newReporter(&Options{Member: watched, Target: m, Interval: time.Second, Resync: time.Hour, Log: zerolog.Nop()}, b.TempDir())
	require.NoError(b, err)
	w.now = elsewhen.Now
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		b.StopTimer()
		put(b, m, strings.ReplaceAll(web(i%2), "web", "more"))
		b.StartTimer()
		require.NoError(b, w.look(b.Context()))
	}
	require.Equal(b, 2, w.sync.Untold())
}

// BenchmarkRemember is to write down what is remembered of a member of 100 nodes, of which one gets a pod every two seconds.
func BenchmarkRemember(b *testing.B) {
	w, err := newReporter(&Options{Member: watched, Interval: time.Second, Resync: time.Hour, Log: zerolog.Nop()}, b.TempDir())
	require.NoError(b, err)
	now := elsewhen.Now()
	w.now = func() time.Time { return now }
	seen := cluster.Observed{Nodes: make([]api.NodeState, 100)}
	for i := range seen.Nodes {
		seen.Nodes[i] = api.NodeState{Name: fmt.Sprintf("n%04d", i), UID: fmt.Sprintf("u%d", i)}
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		now = now.Add(writeEvery)
		seen.Nodes[i%100].Pods = []api.PodState{{Namespace: "d", Name: "p", UID: fmt.Sprint(i)}}
		w.sync.See(&seen, now)
		w.write(false)
	}
}
