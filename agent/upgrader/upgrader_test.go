package upgrader

import (
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
)

func TestFullUpgrade(t *testing.T) {
	h, m := newHub(t), member(t)
	h.start(m, t.TempDir())
	before := h.expectInventory(func(api.MemberInventory) bool { return true })
	require.Equal(t, "1.36.3", before.ControlPlaneVersion)
	require.Equal(t, "weu", before.Region)
	require.Equal(t, "berlin-00000004", before.ClusterResourceID, "the uid of kube-system")
	require.Equal(t, []api.NodePoolFacts{
		{Name: "np1", Mode: "System", OSType: "Linux", ImageFamily: "AKSUbuntu-2204gen2containerd", NodeImageVersion: "AKSUbuntu-2204gen2containerd-202401.09.0", KubernetesVersion: "1.36.3"},
		{Name: "np2", Mode: "User", OSType: "Linux", ImageFamily: "AKSAzureLinux-V2gen2", NodeImageVersion: "AKSAzureLinux-V2gen2-202502.26.0", KubernetesVersion: "1.36.3", FromSnapshot: true},
	}, before.NodePools)

	op := full(1)
	h.command(op)
	r := h.outcome(op, api.OutcomeSucceeded)
	require.Equal(t, []string{"np1", "np2"}, r.Pools)
	after, err := h.inventory()
	require.NoError(t, err, "the inventory comes before the result")
	require.Equal(t, "1.37.1", after.ControlPlaneVersion)
	require.Equal(t, "AKSUbuntu-2204gen2containerd-202401.17.1", after.NodePools[0].NodeImageVersion)
	require.Equal(t, "1.37.1", after.NodePools[1].KubernetesVersion)
	require.Empty(t, after.CurrentOperation)
	nodes, err := m.Nodes(t.Context())
	require.NoError(t, err)
	for _, n := range nodes {
		require.Equal(t, "v1.37.1", n.Kubelet, n.Name)
		require.False(t, n.NotReady, n.Name)
	}

	h.command(op)
	again := full(2)
	h.command(again)
	r = h.outcome(again, api.OutcomeSucceeded)
	require.Contains(t, r.Message, "nothing was done")
	require.Equal(t, []string{"u1/berlin/1"}, m.UpgradesBegun())
}
