package clusterapi

import (
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/agent/management"
	"flotilla/core/api"
)

// The oldest machine says the version of what it is of; pools of a topology are called as they are there.
func TestVersionsAreThoseOfMachines(t *testing.T) {
	w := newWorld(t, plain)
	w.change(management.MachineDeployments, "gpu", `{"spec":{"template":{"spec":{"version":"v1.37.1"}}},"metadata":{"annotations":{"flotilla.io/upgrade":"{\"operation\":\"u\",\"version\":\"v1.37.1\"}"}}}`)
	w.change(controlPlanes, "berlin", `{"status":{"versions":[{"version":"v1.37.1"},{"version":"v1.36.4"}]}}`)
	want := api.MemberInventory{ControlPlaneVersion: "v1.36.4", NodePools: []api.NodePoolFacts{
		{Name: "gpu", KubernetesVersion: "v1.36.3"}, {Name: "small", KubernetesVersion: "v1.36.3"},
	}}
	i, err := w.driver.Inventory(t.Context())
	require.NoError(t, err)
	require.Equal(t, want, i)
	w.acts("gpu")
	w.acts("gpu")
	w.change(management.Machines, "small-004", `{"status":{"nodeInfo":{"kubeletVersion":"v1.35.9"}}}`)
	w.change(controlPlanes, "berlin", `{"status":{"versions":null,"version":"v1.36.3"}}`)
	i, err = w.driver.Inventory(t.Context())
	require.NoError(t, err)
	want.ControlPlaneVersion, want.NodePools[0].KubernetesVersion, want.NodePools[1].KubernetesVersion = "v1.36.3", "v1.37.1", "v1.35.9"
	require.Equal(t, want, i)
}

// An upgrade that others began is named, so that none is begun beside it; those of this driver are gone on with.
func TestUpgradesOfOthersAreNamed(t *testing.T) {
	const by = `{"metadata":{"annotations":{"flotilla.io/upgrade":"{\"operation\":\"u\",\"version\":\"v1.37.1\"}"}}}`
	for name, one := range map[string]struct {
		cluster string
		change  func(w *world)
		says    string
	}{
		"nobody":          {plain, func(*world) {}, ""},
		"a control plane": {plain, func(w *world) { w.change(controlPlanes, "berlin", `{"spec":{"version":"v1.37.1"}}`) }, "of Cluster API, KubeadmControlPlane berlin to v1.37.1,"},
		"a pool": {plain, func(w *world) {
			w.change(management.MachineDeployments, "gpu", `{"spec":{"template":{"spec":{"version":"v1.37.1"}}}}`)
		}, "of Cluster API, MachineDeployment gpu to v1.37.1,"},
		"a pool that waits for deletions": {plain, func(w *world) {
			w.change(management.MachineDeployments, "gpu", `{"spec":{"rollout":{"strategy":{"type":"OnDelete"}},"template":{"spec":{"version":"v1.37.1"}}}}`)
		}, ""},
		"a topology": {managed, func(w *world) { w.change(management.Clusters, "berlin", `{"spec":{"topology":{"version":"v1.37.1"}}}`) }, "of Cluster API, Cluster fleet/berlin to v1.37.1,"},
		"a topology, half": {managed, func(w *world) {
			w.change(management.Clusters, "berlin", `{"spec":{"topology":{"version":"v1.37.1"}}}`)
			w.topologyActs()
		}, "of Cluster API, KubeadmControlPlane berlin to v1.37.1,"},
		"a control plane, by it": {plain, func(w *world) {
			w.change(controlPlanes, "berlin", `{"spec":{"version":"v1.37.1"}}`)
			w.change(controlPlanes, "berlin", by)
		}, ""},
		"a control plane, over by it": {plain, func(w *world) {
			w.change(controlPlanes, "berlin", `{"spec":{"version":"v1.37.2"}}`)
			w.change(controlPlanes, "berlin", by)
		}, "of Cluster API, KubeadmControlPlane berlin to v1.37.2,"},
		"a topology, half, by it": {managed, func(w *world) {
			w.change(management.Clusters, "berlin", `{"spec":{"topology":{"version":"v1.37.1"}}}`)
			w.change(management.Clusters, "berlin", by)
			w.topologyActs()
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, one.cluster)
			one.change(w)
			i, err := w.driver.Inventory(t.Context())
			require.NoError(t, err)
			require.Equal(t, one.says, i.CurrentOperation)
		})
	}
}
