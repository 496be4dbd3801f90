package disruption

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/cluster"
	"flotilla/core/simulate/simulatetest"
)

// A pod costs at most 2 KB, what its event brought included.
func TestMemoryOfPods(t *testing.T) {
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	c := cluster.NewCluster()
	for i := range 500 {
		c.Set(simulatetest.FilledNode(i, false))
	}
	perPod := (heap() - before) / uint64(c.Pods())
	require.Equal(t, 5000, c.Pods())
	require.Less(t, perPod, uint64(2048))
	t.Logf("%d bytes a pod", perPod)
	require.Equal(t, 500, c.Len())
}
