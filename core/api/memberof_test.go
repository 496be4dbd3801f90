package api_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"flotilla/core/api"
)

const exportedMember = `
apiVersion: cluster.kubernetes-fleet.io/v1beta1
kind: MemberCluster
metadata:
  name: berlin
  uid: 11d0
  labels: {region: eu}
spec:
  taints: [{key: gpu, value: "yes", effect: NoSchedule}]
status:
  conditions:
  - {type: NamespaceCollectionSucceeded, status: "True", reason: x, message: "", lastTransitionTime: "2026-01-01T00:00:00Z"}
  namespaces: {web: work-1, db: work-2}
  properties:
    kubernetes.azure.com/node-count: {value: "7", observationTime: "2026-01-01T00:00:00Z"}
    k8s.io/k8s-version: {value: v1.33.1}
  resourceUsage:
    capacity: {cpu: "8"}
    allocatable: {cpu: 7500m}
    available: {memory: 2Gi, ephemeral-storage: 10Gi}
  agentStatus:
  - type: MultiClusterServiceAgent
  - type: MemberAgent
    lastReceivedHeartbeat: "2026-01-01T01:00:00Z"
    conditions:
    - {type: Joined, status: "True", reason: x, message: "", lastTransitionTime: "2026-01-01T00:00:00Z"}
    - {type: Healthy, status: "False", reason: x, message: "", lastTransitionTime: "2026-01-01T00:30:00Z"}
`

func TestMemberOfReadsAKubeFleetExport(t *testing.T) {
	var mc api.MemberCluster
	require.NoError(t, yaml.Unmarshal([]byte(exportedMember), &mc))

	require.Equal(t, api.Member{
		Name:   "berlin",
		UID:    "11d0",
		Labels: map[string]string{"region": "eu", api.LabelMemberName: "berlin"},
		Taints: []api.Taint{{Key: "gpu", Value: "yes", Effect: "NoSchedule"}},
		Properties: map[string]string{
			api.PropertyNodeCount:                                      "7",
			"k8s.io/k8s-version":                                       "v1.33.1",
			api.PropertyResourcePrefix + "total-cpu":                   "8",
			api.PropertyResourcePrefix + "allocatable-cpu":             "7500m",
			api.PropertyResourcePrefix + "available-memory":            "2Gi",
			api.PropertyResourcePrefix + "available-ephemeral-storage": "10Gi",
		},
		HasAgent:           true,
		LastHeartbeat:      time.Date(2026, 1, 1, 1, 0, 0, 0, time.UTC).Local(),
		Joined:             "True",
		Healthy:            "False",
		HealthChanged:      time.Date(2026, 1, 1, 0, 30, 0, 0, time.UTC).Local(),
		NamespaceCondition: true,
		NamespacesKnown:    true,
		Namespaces:         []string{"db", "web"},
	}, api.MemberOf(&mc))
}

func TestMemberOfWithoutStatusHasNoAgent(t *testing.T) {
	now := metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	mc := api.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "oslo", DeletionTimestamp: &now}}

	require.Equal(t, api.Member{
		Name:    "oslo",
		Labels:  map[string]string{api.LabelMemberName: "oslo"},
		Leaving: true,
	}, api.MemberOf(&mc))
}

func TestMemberOfPrefersTheCanonicalSpellingAndEffectiveLabels(t *testing.T) {
	mc := api.MemberCluster{
		ObjectMeta: metav1.ObjectMeta{Name: "oslo", Labels: map[string]string{"env": "spec"}},
		Status: &api.MemberClusterStatus{
			Labels: map[string]string{"env": "spec", "zone": "agent"},
			Properties: map[string]api.PropertyValue{
				api.PropertyNodeCountAKS: {Value: "1"},
				api.PropertyNodeCount:    {Value: "2"},
			},
		},
	}
	m := api.MemberOf(&mc)
	require.Equal(t, map[string]string{api.PropertyNodeCount: "2"}, m.Properties)
	require.Equal(t, "agent", m.Labels["zone"])
	require.NotContains(t, mc.Labels, api.LabelMemberName, "the input is not changed")
}
