package nodesync

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
)

// Two nodes that the hub has, as of noon.
func toldSync() *Sync {
	w := New("b", Pace{Interval: 5 * time.Second, Resync: time.Hour}, nil)
	w.sequence, w.nodes = 10, map[string]*node{
		"n1": {state: *seenNode(), version: 1, stored: 1, sequence: 3, at: noon}, "n2": {version: 2, stored: 2, sequence: 7, at: noon},
	}
	told := api.NodeInventory{Nodes: map[string]uint64{"n1": 1, "n2": 7}}
	w.inventory = inventory{at: noon, told: told, stored: true, toldAt: noon, sequence: 8}
	return w
}

func TestWhenAnInventoryIsTold(t *testing.T) {
	second := func(n int) time.Time { return noon.Add(time.Duration(n) * time.Second) }
	w := toldSync()
	inv, next := w.dueInventory(second(60))
	require.Nil(t, inv, "newer events alone are no reason")
	require.Equal(t, noon.Add(time.Hour), next)
	inv, _ = w.dueInventory(noon.Add(time.Hour))
	require.Equal(t, map[string]uint64{"n1": 3, "n2": 7}, inv.Nodes, "once an hour it is told anyway")
	require.Equal(t, "b", inv.Boot)
	require.Equal(t, uint64(11), inv.Sequence)

	w = toldSync()
	w.inventory.now.Budgets = []api.PodBudget{{Name: "b"}}
	inv, next = w.dueInventory(second(1))
	require.Nil(t, inv, "not more often than the interval")
	require.Equal(t, second(5), next)
	inv, _ = w.dueInventory(second(5))
	require.NotNil(t, inv)

	w.nodes["n3"] = &node{version: 1}
	inv, next = w.dueInventory(second(5))
	require.Nil(t, inv, "it waits for the first event of each node")
	require.Zero(t, next)

	w = toldSync()
	w.nodes["n2"].gone = true
	inv, _ = w.dueInventory(second(5))
	require.Equal(t, map[string]uint64{"n1": 3}, inv.Nodes, "a node that left is not listed")
	w.nodes["n2"].version++
	w.inventory.now.Budgets = []api.PodBudget{{Name: "b"}}
	inv, _ = w.dueInventory(second(5))
	require.Equal(t, map[string]uint64{"n1": 3, "n2": 7}, inv.Nodes, "but it is until that is told")

	w = toldSync()
	w.inventory.stored = false
	inv, _ = w.dueInventory(second(1))
	require.NotNil(t, inv, "the first one at once")
	w.inventory.at = time.Time{}
	inv, _ = w.dueInventory(second(1))
	require.Nil(t, inv, "nothing is known yet")
}

func TestAPodIsPendingUntilItsNodeIsTold(t *testing.T) {
	w := toldSync()
	pod, other := seenPod("a"), seenPod("b")
	w.inventory.told.Pending = []api.PodState{pod, other}
	w.inventory.now.Pending = []api.PodState{seenPod("c")}
	n := w.nodes["n1"]
	n.state.Pods, n.version = []api.PodState{pod}, 2
	inv, _ := w.dueInventory(noon.Add(time.Minute))
	require.Equal(t, []api.PodState{pod, seenPod("c")}, inv.Pending, "b is nowhere any more")
	n.stored = 2
	inv, _ = w.dueInventory(noon.Add(time.Minute))
	require.Equal(t, []api.PodState{seenPod("c")}, inv.Pending)
}

func TestTimesOfWhatIsTold(t *testing.T) {
	w := toldSync()
	require.Equal(t, noon, w.stamp(noon.Add(300*time.Millisecond).In(time.FixedZone("x", 3600))).Time)
	w.floor = noon.Add(time.Minute)
	require.Equal(t, noon.Add(61*time.Second), w.stamp(noon).Time)
	require.Equal(t, noon.Add(2*time.Minute), w.stamp(noon.Add(2*time.Minute)).Time)
}

// That the hub gets less of a node than there is is news when it begins, also once it got all in between.
func TestWhatIsWithheldIsNewsOnce(t *testing.T) {
	w := toldSync()
	for i, row := range []struct {
		withheld string
		news     bool
	}{{"", false}, {"too large", true}, {"too large", false}, {"larger", false}, {"", false}, {"too large", true}} {
		w.nodes["n1"].version++
		e, due := w.Event("n1")
		require.True(t, due)
		require.Equal(t, row.news, w.Took(&e, row.withheld, noon), "%d: %q", i, row.withheld)
	}
}

// The inventory goes before nodes that lost pods, and waits for one that gained some and is due soon; not for one that
// the hub refuses, nor for one that loses some itself.
func TestWhatTheInventoryWaitsFor(t *testing.T) {
	gained := []api.PodState{{Namespace: "shop", Name: "p", UID: "1"}}
	for name, row := range map[string]struct {
		change func(n *node)
		want   int // seconds after noon
	}{
		"nothing is to be told":  {func(*node) {}, 5},
		"one gained a pod":       {func(n *node) { n.version++; n.state.Pods = gained; n.told = noon.Add(3 * time.Second) }, 8},
		"the hub refuses it":     {func(n *node) { n.version++; n.state.Pods = gained; n.told = noon.Add(3 * time.Second); n.failures = 1 }, 5},
		"it may be told already": {func(n *node) { n.version++; n.state.Pods = gained; n.told = noon.Add(-time.Minute) }, 5},
	} {
		w := toldSync()
		row.change(w.nodes["n2"])
		require.Equal(t, noon.Add(time.Duration(row.want)*time.Second), w.coverAt(noon), name)
	}
}
