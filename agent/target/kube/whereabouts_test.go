package kube

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Clouds say in labels and provider ids where a node is and how it was bought.
func TestANodeSaysWhereItIs(t *testing.T) {
	for name, c := range map[string]struct {
		labels   map[string]string
		capacity string
	}{
		"nothing":   {nil, ""},
		"karpenter": {map[string]string{"karpenter.sh/capacity-type": "reserved"}, "reserved"},
		"azure":     {map[string]string{"kubernetes.azure.com/scalesetpriority": "spot"}, "spot"},
		"regular":   {map[string]string{"kubernetes.azure.com/scalesetpriority": "regular", "eks.amazonaws.com/capacityType": "ON_DEMAND"}, ""},
		"google":    {map[string]string{"cloud.google.com/gke-spot": "true"}, "spot"},
		"amazon":    {map[string]string{"eks.amazonaws.com/capacityType": "SPOT"}, "spot"},
	} {
		require.Equal(t, c.capacity, nodeOf(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: c.labels}}, nil).CapacityType, name)
	}
	n := nodeOf(&corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"topology.kubernetes.io/region": "east", "topology.kubernetes.io/zone": "east-1"}},
		Spec:       corev1.NodeSpec{ProviderID: "azure:///x"},
	}, nil)
	require.Equal(t, []string{"east", "east-1", "azure:///x"}, []string{n.Region, n.Zone, n.ProviderID})
}
