package disruption

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/cluster"
	"flotilla/core/simulate"
	"flotilla/core/simulate/simulatetest"
)

func event(node, boot string, sequence uint64, second int, pods int) *api.NodeEvent {
	e := &api.NodeEvent{Boot: boot, Sequence: sequence, At: metav1.NewTime(simulatetest.Now.Add(time.Duration(second) * time.Second)), Node: *simulatetest.Node(node, "d2", "z-a", "a")}
	for i := range pods {
		e.Node.Pods = append(e.Node.Pods, simulatetest.Pod(string(rune('a'+i)), 10))
	}
	return e
}

// Events that come twice, in another order, or from an agent that was started anew leave the newest
// state.
func TestViewKeepsTheNewest(t *testing.T) {
	gone := event("n2", "b2", 2, 12, 0)
	gone.Gone = true
	boots := [][]*api.NodeEvent{
		{event("n1", "b1", 1, 0, 1), event("n1", "b1", 2, 5, 2)},
		{event("n1", "b2", 1, 9, 2), event("n1", "b2", 2, 10, 3), event("n2", "b2", 1, 11, 4), gone},
	}
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 4))
		v := cluster.NewView()
		for _, events := range boots {
			stream := append(append([]*api.NodeEvent{}, events...), events[r.IntN(len(events))], events[r.IntN(len(events))])
			r.Shuffle(len(stream), func(i, j int) { stream[i], stream[j] = stream[j], stream[i] })
			for _, e := range stream {
				v.Event(e)
			}
		}
		require.Equal(t, []string{"n1"}, v.Cluster.Names(), "seed %d", seed)
		require.Equal(t, 3, v.Cluster.Pods(), "seed %d", seed)
	}
}

// An agent that is started anew after its clock was set back is believed: what it tells counts, whatever
// the events before say of the time, and nothing is decided until all of it has come.
func TestViewAfterTheClockWasSetBack(t *testing.T) {
	v := cluster.NewView()
	inventory := func(boot string, second int, nodes map[string]uint64) *api.NodeInventory {
		return &api.NodeInventory{Boot: boot, Sequence: 9, At: metav1.NewTime(simulatetest.Now.Add(time.Duration(second) * time.Second)), Nodes: nodes}
	}
	stale := func() string { return v.Stale(simulatetest.Now.Add(time.Minute), time.Hour) }
	v.Event(event("n1", "b1", 1, 0, 2))
	v.Event(event("n2", "b1", 2, 0, 0))
	require.True(t, v.Inventory(inventory("b1", 0, map[string]uint64{"n1": 1, "n2": 2})))
	v.Event(event("n1", "b1", 3, 1800, 0))
	v.Event(event("n2", "b1", 4, 1800, 0))
	require.Empty(t, stale())

	require.True(t, v.Event(event("n1", "b2", 1, 1, 3)))
	require.Equal(t, 3, v.Cluster.Pods())
	require.Contains(t, stale(), "node n1 and the inventory are of different starts of the agent")
	require.True(t, v.Inventory(inventory("b2", -1800, map[string]uint64{"n1": 1})))
	require.Empty(t, stale())
	require.Equal(t, []string{"n1"}, v.Cluster.Names(), "the new agent knows nothing of n2")

	require.True(t, v.Event(event("n1", "b1", 5, 1801, 0)), "another agent speaks for the member")
	require.Contains(t, stale(), "different starts of the agent")
}

// A view that does not match the inventory says what is missing, and decides nothing.
func TestViewStale(t *testing.T) {
	v := cluster.NewView()
	inventory := func(second int, boot string, nodes map[string]uint64) *api.NodeInventory {
		return &api.NodeInventory{Boot: boot, At: metav1.NewTime(simulatetest.Now.Add(time.Duration(second) * time.Second)), Nodes: nodes}
	}
	stale := func(second int) string {
		return v.Stale(simulatetest.Now.Add(time.Duration(second)*time.Second), time.Hour)
	}
	require.Equal(t, "the member has sent no inventory of its nodes yet", stale(0))
	require.True(t, v.Inventory(inventory(1, "b1", map[string]uint64{"n1": 1, "n2": 1})))
	require.Equal(t, "the inventory lists node n1, of which no event has come", stale(1))
	v.Event(event("n1", "b1", 1, 1, 1))
	v.Event(event("n2", "b1", 1, 1, 1))
	require.Empty(t, stale(1))
	require.Equal(t, "the newest inventory of its nodes is of 2026-11-20T12:00:01Z, more than 1h0m0s ago", stale(3602))

	require.True(t, v.Inventory(inventory(20, "b1", map[string]uint64{"n1": 2})))
	require.Equal(t, []string{"n1"}, v.Cluster.Names(), "a node that is not listed is gone")
	require.Equal(t, "the newest event of node n1 has not come", stale(20))
	require.False(t, v.Event(event("n1", "b1", 1, 1, 1)))
	require.True(t, v.Event(event("n1", "b1", 2, 19, 1)))
	require.Empty(t, stale(20))
	require.False(t, v.Inventory(inventory(10, "b1", nil)), "an older inventory")
	require.True(t, v.Event(event("n3", "b1", 1, 25, 1)), "a node that came after the inventory")
	require.Empty(t, stale(25))
	require.Equal(t, []string{"n9"}, v.Unlisted([]string{"n1", "n3", "n9"}))

	second := inventory(20, "b1", map[string]uint64{"n1": 2})
	second.Sequence = 2
	second.Withheld = "the inventory is too large"
	require.True(t, v.Inventory(second), "the next inventory of the same second")
	require.Equal(t, "the inventory is too large", stale(25))
	require.False(t, v.Inventory(second), "the same again")
	second = inventory(20, "b2", map[string]uint64{"n1": 1})
	second.Sequence = 1
	require.True(t, v.Inventory(second), "of an agent started anew within the second")
	reduced := event("n1", "b2", 1, 20, 0)
	reduced.Node.Withheld = "the state is too large"
	require.True(t, v.Event(reduced))
	require.Equal(t, "node n1: the state is too large", stale(25))
	require.True(t, v.Event(event("n1", "b2", 2, 20, 1)))
	require.Empty(t, stale(25))

	require.False(t, v.Declined())
	second = inventory(30, "b3", nil)
	second.Withheld = "nodes.enabled is false"
	declined := cluster.NewView()
	declined.Event(event("n1", "b2", 3, 25, 1))
	require.True(t, declined.Inventory(second))
	require.True(t, declined.Declined())
	require.Equal(t, "nodes.enabled is false", declined.Stale(simulatetest.Now.Add(30*time.Second), time.Hour))

	d := Decide(&simulate.State{Cluster: v.Cluster, Now: simulatetest.Now, Stale: "old"})
	require.Empty(t, d.Commands)
	require.Equal(t, []Code{CodeStale}, codes(d, "n1"))
}

// What is stored no longer is known no longer, and comes back with the next event.
func TestViewForgets(t *testing.T) {
	v := cluster.NewView()
	e := &api.NodeEvent{Boot: "b", Sequence: 3, At: metav1.NewTime(simulatetest.Now), Node: *simulatetest.Node("n1", "d4", "z-a", "a")}
	require.True(t, v.Event(e))
	require.True(t, v.Inventory(&api.NodeInventory{Boot: "b", Sequence: 1, At: metav1.NewTime(simulatetest.Now), Nodes: map[string]uint64{"n1": 3}}))
	require.Equal(t, simulatetest.Now, v.Inventoried())
	v.Forget("n1")
	require.Zero(t, v.Cluster.Len())
	require.Contains(t, v.Stale(simulatetest.Now, time.Hour), "of which no event has come")
	v.Forget("")
	require.Contains(t, v.Stale(simulatetest.Now, time.Hour), "no inventory")
	require.Zero(t, v.Inventoried())
	require.True(t, v.Event(e))
}

// A pool's share counts all its nodes, and of those that budgets count the ones that are down.
func TestCountPools(t *testing.T) {
	f := simulatetest.Member{Nodes: []*api.NodeState{simulatetest.Node("n1", "d4", "z-a", "a"), simulatetest.Node("n2", "d4", "z-a", "a"), simulatetest.Node("n3", "d4", "z-a", "a"), simulatetest.Node("n4", "d4", "z-a", "b"), simulatetest.Node("n5", "d4", "z-a", "")}}
	f.Nodes[1].Initialized, f.Nodes[2].Ready = false, false
	s := f.State()
	s.Busy = map[string]bool{"n4": true}
	require.Equal(t, map[string]PoolShare{"a": {FleetCount: FleetCount{2, 1}, Nodes: 3}, "b": {FleetCount: FleetCount{1, 1}, Nodes: 1}}, CountPools(s))
}

// catalog is an empty one for the members that a selector matches, for all without one.
func catalog(name, members string) *api.InstanceCatalog {
	c := &api.InstanceCatalog{}
	c.Name = name
	if members != "" {
		c.Annotations = map[string]string{api.AnnotationMembers: members}
	}
	return c
}

// Of several catalogs for a member the first by name counts.
func TestCatalogFor(t *testing.T) {
	all := []*api.InstanceCatalog{catalog("z", ""), catalog("b", "cloud=azure"), catalog("a", "cloud=on-prem"), catalog("0", "((")}
	require.Equal(t, "b", CatalogFor(map[string]string{"cloud": "azure"}, all).Name)
	require.Equal(t, "z", CatalogFor(nil, all).Name)
	require.Nil(t, CatalogFor(nil, all[1:]))
}
