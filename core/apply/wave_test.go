package apply

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
)

// What others stand on is applied before them: each line is a wave.
func TestWaves(t *testing.T) {
	for wave, kinds := range [][]string{
		{"v1 Namespace", "scheduling.k8s.io/v1 PriorityClass"},
		{
			"networking.k8s.io/v1 NetworkPolicy", "v1 ResourceQuota", "v1 LimitRange", "policy/v1 PodDisruptionBudget", "v1 ServiceAccount", "v1 Secret", "v1 ConfigMap",
			"storage.k8s.io/v1 StorageClass", "v1 PersistentVolume", "v1 PersistentVolumeClaim", "apiextensions.k8s.io/v1 CustomResourceDefinition",
			"networking.k8s.io/v1 IngressClass",
		},
		{"rbac.authorization.k8s.io/v1 ClusterRole", "rbac.authorization.k8s.io/v1 Role"},
		{"rbac.authorization.k8s.io/v1 ClusterRoleBinding", "rbac.authorization.k8s.io/v1 RoleBinding"},
		{
			"v1 Service", "apps/v1 DaemonSet", "v1 Pod", "v1 ReplicationController", "apps/v1 ReplicaSet", "apps/v1 Deployment", "autoscaling/v2 HorizontalPodAutoscaler",
			"apps/v1 StatefulSet", "batch/v1 Job", "batch/v1 CronJob", "networking.k8s.io/v1 Ingress",
		},
		{
			"apiregistration.k8s.io/v1 APIService", "admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration",
			"admissionregistration.k8s.io/v1 MutatingWebhookConfiguration",
		},
		{"example.com/v1 Deployment", "apps/v1 Service"},
	} {
		for _, kind := range kinds {
			version, name, _ := strings.Cut(kind, " ")
			require.Equal(t, wave, Wave(api.ObjectRef{APIVersion: version, Kind: name}), kind)
		}
	}
}
