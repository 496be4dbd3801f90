package nodesync

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/cluster"
)

// inventoryOf lists nodes by name, and pods without one.
func inventoryOf(pending []api.PodState, nodes ...string) *api.NodeInventory {
	inv := &api.NodeInventory{At: metav1.NewTime(noon), Pending: pending, Nodes: map[string]uint64{}}
	for _, name := range nodes {
		inv.Nodes[name] = 1
	}
	return inv
}

// Nothing is read back where the nodes of the last inventory stay, and the pods without one are there.
func TestWhenAnAgentGoesOnCalmly(t *testing.T) {
	a := podOf("a", "web")
	for name, c := range map[string]struct {
		inventory *api.NodeInventory
		nodes     []api.NodeState
		pending   []api.PodState
		calm      bool
	}{
		"nothing was told":              {inventoryOf(nil), nil, nil, true},
		"all as it was":                 {inventoryOf(nil, "n2", "n1"), []api.NodeState{nodeWith("n1"), nodeWith("n2")}, nil, true},
		"another node":                  {inventoryOf(nil, "n1", "n2"), []api.NodeState{nodeWith("n1"), nodeWith("n2"), goingWith("n3")}, nil, true},
		"a node goes":                   {inventoryOf(nil, "n1", "n2"), []api.NodeState{nodeWith("n1"), goingWith("n2")}, nil, false},
		"a node is gone":                {inventoryOf(nil, "n1", "n2"), []api.NodeState{nodeWith("n1")}, nil, false},
		"a pod waits still":             {inventoryOf([]api.PodState{a}, "n1", "n2"), []api.NodeState{nodeWith("n1"), nodeWith("n2")}, []api.PodState{a}, true},
		"a pod found a node":            {inventoryOf([]api.PodState{a}, "n1", "n2"), []api.NodeState{nodeWith("n1", a), nodeWith("n2")}, nil, true},
		"a pod without a node is gone":  {inventoryOf([]api.PodState{a}, "n1", "n2"), []api.NodeState{nodeWith("n1"), nodeWith("n2")}, nil, false},
		"one of two of those is gone":   {inventoryOf([]api.PodState{a, podOf("b", "web")}, "n1", "n2"), []api.NodeState{nodeWith("n1"), nodeWith("n2", podOf("b", "web"))}, nil, false},
		"the first of those is there":   {inventoryOf([]api.PodState{podOf("b", "web"), a}, "n1", "n2"), []api.NodeState{nodeWith("n1"), nodeWith("n2", podOf("b", "web"))}, nil, false},
		"its pods have nothing with it": {inventoryOf(nil, "n1", "n2"), []api.NodeState{nodeWith("n1", a), nodeWith("n2")}, []api.PodState{podOf("b", "web")}, true},
	} {
		s := New("b", Pace{}, nil)
		require.True(t, s.Fresh())
		s.See(&cluster.Observed{Nodes: c.nodes, Inventory: api.NodeInventory{Pending: c.pending}}, noon)
		names, calm := s.Resume(c.inventory)
		require.Equal(t, c.calm, calm, name)
		require.Len(t, names, len(c.inventory.Nodes))
		require.IsIncreasing(t, append([]string{""}, names...))
		require.True(t, s.stamp(noon).After(noon), "what is told is later than what was")
	}
}

// Pods that left nodes which go, while no agent looked, are between two nodes: as many as are not back.
func TestPodsThatLeftWhileNobodyLooked(t *testing.T) {
	a, b, c, d := podOf("a", "web"), podOf("b", "web"), podOf("c", "web"), podOf("d", "web")
	bare := podOf("bare", "", func(p *api.PodState) { p.Owner = "" })
	for name, row := range map[string]struct {
		told, nodes     []api.NodeState
		waited, pending []api.PodState
		want            []string
	}{
		"nobody left":                     {told: []api.NodeState{nodeWith("n1", a)}, nodes: []api.NodeState{nodeWith("n1", a)}},
		"from a node that stays":          {told: []api.NodeState{nodeWith("n1", a)}, nodes: []api.NodeState{nodeWith("n1")}},
		"from a node that goes":           {told: []api.NodeState{nodeWith("n1", a, b)}, nodes: []api.NodeState{goingWith("n1", b)}, want: []string{"a"}},
		"from a node that is gone":        {told: []api.NodeState{nodeWith("n1", a), nodeWith("n2", b)}, nodes: []api.NodeState{nodeWith("n2", b)}, want: []string{"a"}},
		"and one is back":                 {told: []api.NodeState{nodeWith("n1", a, b), nodeWith("n2")}, nodes: []api.NodeState{nodeWith("n2", c)}, want: []string{"b"}},
		"and all are back":                {told: []api.NodeState{nodeWith("n1", a, b), nodeWith("n2")}, nodes: []api.NodeState{nodeWith("n2", c, d)}},
		"and its successor waits":         {told: []api.NodeState{nodeWith("n1", a)}, pending: []api.PodState{c}, want: []string{"c"}},
		"one that was between two nodes":  {told: nil, waited: []api.PodState{a}, nodes: []api.NodeState{nodeWith("n2")}, want: []string{"a"}},
		"one that waited and is there":    {told: nil, waited: []api.PodState{a}, nodes: []api.NodeState{nodeWith("n2", a)}},
		"one that nobody makes again":     {told: []api.NodeState{nodeWith("n1", bare)}, waited: []api.PodState{bare}, nodes: nil},
		"one of those, and one that left": {told: []api.NodeState{nodeWith("n1", bare, a)}, nodes: nil, want: []string{"a"}},
	} {
		s := New("b", Pace{}, nil)
		s.See(&cluster.Observed{Nodes: row.nodes, Inventory: api.NodeInventory{Pending: row.pending}}, noon)
		s.TakeUp(row.told, inventoryOf(row.waited), noon)
		var names []string
		for i := range s.inventory.now.Pending {
			names = append(names, s.inventory.now.Pending[i].Name)
		}
		require.Equal(t, row.want, names, name)
	}
	s := New("b", Pace{}, nil)
	s.See(&cluster.Observed{}, noon)
	require.False(t, s.TakeUp(nil, inventoryOf(nil), noon))
	require.True(t, s.TakeUp([]api.NodeState{nodeWith("n1", a)}, inventoryOf(nil), noon))
}

// The last that the hub took is known, and whether it lacks that by now.
func TestWhatTheHubTookLast(t *testing.T) {
	s := newTeller(nodeWith("n1"), nodeWith("n2")).s
	require.False(t, s.Fresh())
	inventory, name, event := s.Last()
	require.Contains(t, []string{"n1", "n2"}, name)
	require.NotEqual(t, inventory, event)
	require.NotZero(t, inventory)
	require.NotZero(t, event)
	for _, c := range []struct {
		boot     string
		sequence uint64
		want     bool
	}{{"b", event, false}, {"b", event + 1, false}, {"b", event - 1, true}, {"other", event, true}} {
		require.Equal(t, c.want, s.Lacks(c.boot, c.sequence, event), "%+v", c)
	}
	fresh := New("b", Pace{Interval: time.Second}, nil)
	_, name, event = fresh.Last()
	require.Empty(t, name)
	require.Zero(t, event)
}

// Of a node that is too large the hub gets what counts it, and why there is no more.
func TestANodeThatIsTooLargeIsCounted(t *testing.T) {
	n := nodeWith("n1", podOf("a", "web"))
	n.UID, n.Managed, n.Labels = "u", true, map[string]string{api.LabelNodePool: "p", "other": "x"}
	require.Equal(t, api.NodeState{Name: "n1", UID: "u", Managed: true, Withheld: "too large", Labels: map[string]string{api.LabelNodePool: "p"}}, Reduced(&n, "too large"))
	delete(n.Labels, api.LabelNodePool)
	require.Nil(t, Reduced(&n, "too large").Labels)
}
