package cluster

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
)

// Names of resources beyond those that are told apart are left out, which the cluster says until they are named no more.
func TestSoManyResourcesAreToldApart(t *testing.T) {
	named := func(node string, from, to int) *api.NodeState {
		pod := api.PodState{Namespace: "shop", Name: node, Requests: api.Amounts{"cpu": 100}}
		for i := from; i < to; i++ {
			pod.Requests[fmt.Sprint("example.com/", i)] = 1
		}
		return &api.NodeState{Name: node, Pods: []api.PodState{pod}}
	}
	c := NewCluster()
	c.Set(named("n1", 0, MostResources-BaseResources))
	require.False(t, c.Resources.Full)
	require.Len(t, c.Resources.Index, MostResources)
	c.Set(named("n2", 1000, 2000))
	require.True(t, c.Resources.Full)
	require.Len(t, c.Resources.Index, MostResources)
	require.Empty(t, c.Nodes["n2"].Pods[0].Requests.More)
	require.EqualValues(t, 100, c.Nodes["n2"].Pods[0].Requests.Base[CPUIndex])

	c.SetInventory(&api.NodeInventory{Pending: []api.PodState{{Namespace: "shop", Name: "waits", Requests: api.Amounts{"example.com/gpu": 2}}}})
	require.Empty(t, c.Pending[0].Requests.More)
	for range 4 { // as its agent tells of its nodes anew
		c.Set(named("n1", 0, 3))
		c.Set(named("n2", 1, 4))
	}
	require.False(t, c.Resources.Full)
	require.Len(t, c.Resources.Index, BaseResources+5)
	require.Len(t, c.Nodes["n2"].Pods[0].Requests.More, 3)
	require.Len(t, c.Pending[0].Requests.More, 1)
}
