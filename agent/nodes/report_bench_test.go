package nodes

import (
	"fmt"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"flotilla/agent/target"
	targetmemory "flotilla/agent/target/memory"
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
	require.NoError(b, w.look(b.Context()))
	b.ResetTimer()
	for b.Loop() {
		require.NoError(b, w.look(b.Context()))
	}
	e, due := w.sync.Event("n0999")
	require.True(b, due)
	require.Len(b, e.Node.Pods, 10)
}
