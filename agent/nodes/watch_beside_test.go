package nodes

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
)

// A watcher of two nodes that the hub has, as of noon.
func toldWatcher() *watcher {
	w := &watcher{o: &Options{Interval: 5 * time.Second, Resync: time.Hour}, boot: "b", sequence: 10, nodes: map[string]*tracked{
		"n1": {state: *seenNode(), version: 1, stored: 1, sequence: 3, at: noon}, "n2": {version: 2, stored: 2, sequence: 7, at: noon},
	}}
	told := api.NodeInventory{Nodes: map[string]uint64{"n1": 1, "n2": 7}}
	w.beside = beside{at: noon, told: told, stored: true, toldAt: noon, sequence: 8}
	return w
}

func TestWhenAnInventoryIsTold(t *testing.T) {
	second := func(n int) time.Time { return noon.Add(time.Duration(n) * time.Second) }
	w := toldWatcher()
	inv, next := w.inventory(second(60))
	require.Nil(t, inv, "newer events alone are no reason")
	require.Equal(t, noon.Add(time.Hour), next)
	inv, _ = w.inventory(noon.Add(time.Hour))
	require.Equal(t, map[string]uint64{"n1": 3, "n2": 7}, inv.Nodes, "once an hour it is told anyway")
	require.Equal(t, "b", inv.Boot)
	require.Equal(t, uint64(11), inv.Sequence)

	w = toldWatcher()
	w.beside.now.Budgets = []api.PodBudget{{Name: "b"}}
	inv, next = w.inventory(second(1))
	require.Nil(t, inv, "not more often than the interval")
	require.Equal(t, second(5), next)
	inv, _ = w.inventory(second(5))
	require.NotNil(t, inv)

	w.nodes["n3"] = &tracked{version: 1}
	inv, next = w.inventory(second(5))
	require.Nil(t, inv, "it waits for the first event of each node")
	require.Zero(t, next)

	w = toldWatcher()
	w.nodes["n2"].gone = true
	inv, _ = w.inventory(second(5))
	require.Equal(t, map[string]uint64{"n1": 3}, inv.Nodes, "a node that left is not listed")
	w.nodes["n2"].version++
	w.beside.now.Budgets = []api.PodBudget{{Name: "b"}}
	inv, _ = w.inventory(second(5))
	require.Equal(t, map[string]uint64{"n1": 3, "n2": 7}, inv.Nodes, "but it is until that is told")

	w = toldWatcher()
	w.beside.stored = false
	inv, _ = w.inventory(second(1))
	require.NotNil(t, inv, "the first one at once")
	w.beside.at = time.Time{}
	inv, _ = w.inventory(second(1))
	require.Nil(t, inv, "nothing is known yet")
}

func TestAPodIsPendingUntilItsNodeIsTold(t *testing.T) {
	w := toldWatcher()
	pod, other := seenPod("a"), seenPod("b")
	w.beside.told.Pending = []api.PodState{pod, other}
	w.beside.now.Pending = []api.PodState{seenPod("c")}
	n := w.nodes["n1"]
	n.state.Pods, n.version = []api.PodState{pod}, 2
	inv, _ := w.inventory(noon.Add(time.Minute))
	require.Equal(t, []api.PodState{pod, seenPod("c")}, inv.Pending, "b is nowhere any more")
	n.stored = 2
	inv, _ = w.inventory(noon.Add(time.Minute))
	require.Equal(t, []api.PodState{seenPod("c")}, inv.Pending)
}

func TestTimesOfWhatIsTold(t *testing.T) {
	w := toldWatcher()
	require.Equal(t, noon, w.stamp(noon.Add(300*time.Millisecond).In(time.FixedZone("x", 3600))).Time)
	w.floor = noon.Add(time.Minute)
	require.Equal(t, noon.Add(61*time.Second), w.stamp(noon).Time)
	require.Equal(t, noon.Add(2*time.Minute), w.stamp(noon.Add(2*time.Minute)).Time)
}
