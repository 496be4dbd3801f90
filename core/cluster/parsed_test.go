package cluster

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
)

// Claims that are not bound take the topology of their class; those that do not exist are missing.
func TestVolumeClaims(t *testing.T) {
	v := &Volumes{
		Claims:  map[string]*corev1.PersistentVolumeClaim{"web/data": read[corev1.PersistentVolumeClaim](t, `spec: {storageClassName: fast}`)},
		Classes: map[string]*storagev1.StorageClass{"fast": read[storagev1.StorageClass](t, `{provisioner: disk, allowedTopologies: [{matchLabelExpressions: [{key: topology.kubernetes.io/zone, values: [z-a, z-b]}]}]}`)},
	}
	fast := v.claim("web", "data")
	require.Equal(t, "disk", fast.Driver)
	require.Equal(t, []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
		{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{"z-a", "z-b"}},
	}}}, fast.Terms)
	require.True(t, v.claim("web", "other").Missing)
	require.Nil(t, (*Volumes)(nil).of(&corev1.Pod{}))
}

func TestObserveBudget(t *testing.T) {
	b := ObserveBudget(read[policyv1.PodDisruptionBudget](t, `{metadata: {name: b, namespace: web}, spec: {maxUnavailable: 0%, selector: {matchLabels: {app: x}}, unhealthyPodEvictionPolicy: AlwaysAllow}, status: {disruptionsAllowed: 1, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0}}`))
	parsed := newPodBudget(&b)
	require.Equal(t, "web/b", parsed.Name)
	require.True(t, parsed.Full && parsed.alwaysAllow)
	require.Equal(t, 1, parsed.Allowed)
}
