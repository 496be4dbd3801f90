package overview

import (
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/core/disruption"
)

func node(member, name, pool string, price float64, v *api.NodeVerdict) api.MemberNode {
	n := api.MemberNode{Spec: api.MemberNodeSpec{Member: member, NodePool: pool}, Status: api.MemberNodeStatus{State: api.NodeReady, Verdict: v}}
	n.Name, n.Status.Price = name, api.Hourly{Amount: price, Unknown: price == 0}
	return n
}

func TestPoolsAreSummedOverMembers(t *testing.T) {
	nodes := []api.MemberNode{
		node("berlin", "n1", "general", 0.25, &api.NodeVerdict{Disrupt: "Empty"}),
		node("berlin", "n2", "general", 0.5, &api.NodeVerdict{Code: "NotConsolidatable", Drift: "Hash"}),
		node("oslo", "n1", "general", 0, nil),
		node("oslo", "n2", "general", 1, &api.NodeVerdict{Disrupt: "Drifted"}),
		node("oslo", "n3", "general", 1, &api.NodeVerdict{Disrupt: "Drifted"}),
		node("oslo", "n4", "", 1, nil),
	}
	under := func(phase, member string, saves api.Hourly, names ...string) api.NodeDisruption {
		return api.NodeDisruption{Spec: api.NodeDisruptionSpec{Member: member}, Status: api.Disruption{Phase: phase, Nodes: names, Savings: saves}}
	}
	disruptions := []api.NodeDisruption{
		under(api.PhaseDraining, "oslo", api.Hourly{Amount: 0.75}, "gone", "n2", "n3"),
		under(api.PhaseLaunching, "berlin", api.Hourly{Unknown: true, Amount: 9}, "n1"),
		under(api.PhaseAborted, "berlin", api.Hourly{Amount: 5}, "n2"),
	}
	budgets := &disruption.BudgetReport{Pools: []disruption.PoolBudget{
		{Name: "general", Member: "oslo", Allowed: map[string]capacity.Count{"Empty": 3, "Drifted": 1}},
		{Name: "general", Member: "berlin", Allowed: map[string]capacity.Count{"Empty": capacity.Unbounded, "Drifted": 2}},
		{Name: "idle", Member: "oslo"},
	}}
	pools := PoolsOf(nodes, disruptions, budgets)
	require.Len(t, pools, 3)
	none, general, idle := pools[0], pools[1], pools[2]
	require.Equal(t, []string{"", "general", "idle"}, []string{none.Pool, general.Pool, idle.Pool})
	require.Equal(t, []int{1, 5, 0}, []int{none.Nodes, general.Nodes, idle.Nodes})
	require.Equal(t, map[string]int{"Empty": 1, "Drifted": 2}, general.Going)
	require.Equal(t, map[string]int{"NotConsolidatable": 1}, general.Staying)
	require.Equal(t, map[string]int{api.NodeReady: 5}, general.States)
	require.Equal(t, []float64{2.75, 0.75}, []float64{general.Price, general.Savings}, "what is aborted or unknown saves nothing")
	require.Equal(t, []int{1, 1, 3, 5}, []int{general.Unpriced, general.Drifted, general.Disrupting, general.Allowed})
	require.True(t, general.AnyMore)
	require.Equal(t, []string{"berlin", "oslo"}, []string{general.Budgets[0].Member, general.Budgets[1].Member})
	oslo := general.Members[0]
	require.Equal(t, "oslo", oslo.Member, "where most goes")
	require.Equal(t, []int{3, 2, 3}, []int{oslo.Nodes, oslo.Disrupting, oslo.Allowed})
	require.InDelta(t, 2, oslo.Price, 1e-9)
	require.False(t, oslo.AnyMore)
	require.Len(t, idle.Members, 1)
	require.Empty(t, idle.Populated())
	require.Equal(t, general.Members, general.Populated())
	require.Empty(t, PoolsOf(nil, nil, nil))
}
