package content

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What only means something where it was made is never selected, nor what steers the hub; envelopes hold what members are to see.
func TestKindsThatAreNeverSelected(t *testing.T) {
	for kind, never := range map[groupKind]bool{
		{"", "Pod"}: true, {"", "Node"}: true, {"apps", "Pod"}: false, {"", "ConfigMap"}: false,
		{"events.k8s.io", "Event"}: true, {"coordination.k8s.io", "Lease"}: true, {"metrics.k8s.io", "PodMetrics"}: true,
		{"cluster.kubernetes-fleet.io", "MemberCluster"}: true, {"flotilla.io", "UpdateRun"}: true,
		{"networking.fleet.azure.com", "ServiceImport"}: true, {"networking.fleet.azure.com", "TrafficManagerProfile"}: true,
		{"networking.fleet.azure.com", "TrafficManagerBackend"}: true, {"networking.fleet.azure.com", "ServiceExport"}: false,
		{"placement.kubernetes-fleet.io", "ClusterResourcePlacement"}: true,
		{"placement.kubernetes-fleet.io", "ResourceEnvelope"}:         false, {"placement.kubernetes-fleet.io", "ClusterResourceEnvelope"}: false,
	} {
		require.Equal(t, never, neverSelected(kind), "%v", kind)
	}
}
