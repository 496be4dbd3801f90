package beat

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"flotilla/agent/target"
)

func TestProperties(t *testing.T) {
	list := func(cpu, memory string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}
	}
	for name, c := range map[string]struct {
		nodes []target.Node
		want  map[string]string
	}{
		"no nodes": {want: map[string]string{
			"kubernetes-fleet.io/node-count":                   "0",
			"resources.kubernetes-fleet.io/total-cpu":          "0",
			"resources.kubernetes-fleet.io/allocatable-cpu":    "0",
			"resources.kubernetes-fleet.io/available-cpu":      "0",
			"resources.kubernetes-fleet.io/total-memory":       "0",
			"resources.kubernetes-fleet.io/allocatable-memory": "0",
			"resources.kubernetes-fleet.io/available-memory":   "0",
		}},
		"two nodes with prices, one of them overfull": {
			nodes: []target.Node{
				{Capacity: list("4", "16Gi"), Allocatable: list("3800m", "15Gi"), Requested: list("300m", "512Mi"), Price: 0.2},
				{Capacity: list("4", "16Gi"), Allocatable: list("3800m", "15Gi"), Requested: list("4", "1Gi"), Price: 0.3},
			},
			want: map[string]string{
				"kubernetes-fleet.io/node-count":                   "2",
				"resources.kubernetes-fleet.io/total-cpu":          "8",
				"resources.kubernetes-fleet.io/allocatable-cpu":    "7600m",
				"resources.kubernetes-fleet.io/available-cpu":      "3500m",
				"resources.kubernetes-fleet.io/total-memory":       "32Gi",
				"resources.kubernetes-fleet.io/allocatable-memory": "30Gi",
				"resources.kubernetes-fleet.io/available-memory":   "29184Mi",
				"kubernetes.azure.com/per-cpu-core-cost":           "0.062",
				"kubernetes.azure.com/per-gb-memory-cost":          "0.016",
			},
		},
		"a node without a price leaves the cost out": {
			nodes: []target.Node{
				{Capacity: list("4", "16Gi"), Allocatable: list("4", "16Gi"), Price: 0.2},
				{Capacity: list("1", "1Gi"), Allocatable: list("1", "1Gi")},
			},
			want: map[string]string{
				"kubernetes-fleet.io/node-count":                   "2",
				"resources.kubernetes-fleet.io/total-cpu":          "5",
				"resources.kubernetes-fleet.io/allocatable-cpu":    "5",
				"resources.kubernetes-fleet.io/available-cpu":      "5",
				"resources.kubernetes-fleet.io/total-memory":       "17Gi",
				"resources.kubernetes-fleet.io/allocatable-memory": "17Gi",
				"resources.kubernetes-fleet.io/available-memory":   "17Gi",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, Properties(c.nodes))
		})
	}
}
