package apply

import "flotilla/core/api"

// lastWave holds every kind that waveOf does not name.
const lastWave = 6

type groupKind struct{ group, kind string }

// waveOf is the order in which kinds are applied, from KubeFleet: what others
// stand on comes first.
var waveOf = map[groupKind]int{
	{"", "Namespace"}:                      0,
	{"scheduling.k8s.io", "PriorityClass"}: 0,

	{"networking.k8s.io", "NetworkPolicy"}:               1,
	{"", "ResourceQuota"}:                                1,
	{"", "LimitRange"}:                                   1,
	{"policy", "PodDisruptionBudget"}:                    1,
	{"", "ServiceAccount"}:                               1,
	{"", "Secret"}:                                       1,
	{"", "ConfigMap"}:                                    1,
	{"storage.k8s.io", "StorageClass"}:                   1,
	{"", "PersistentVolume"}:                             1,
	{"", "PersistentVolumeClaim"}:                        1,
	{"apiextensions.k8s.io", "CustomResourceDefinition"}: 1,
	{"networking.k8s.io", "IngressClass"}:                1,

	{"rbac.authorization.k8s.io", "ClusterRole"}: 2,
	{"rbac.authorization.k8s.io", "Role"}:        2,

	{"rbac.authorization.k8s.io", "ClusterRoleBinding"}: 3,
	{"rbac.authorization.k8s.io", "RoleBinding"}:        3,

	{"", "Service"}:                            4,
	{"apps", "DaemonSet"}:                      4,
	{"", "Pod"}:                                4,
	{"", "ReplicationController"}:              4,
	{"apps", "ReplicaSet"}:                     4,
	{"apps", "Deployment"}:                     4,
	{"autoscaling", "HorizontalPodAutoscaler"}: 4,
	{"apps", "StatefulSet"}:                    4,
	{"batch", "Job"}:                           4,
	{"batch", "CronJob"}:                       4,
	{"networking.k8s.io", "Ingress"}:           4,

	{"apiregistration.k8s.io", "APIService"}:                           5,
	{"admissionregistration.k8s.io", "ValidatingWebhookConfiguration"}: 5,
	{"admissionregistration.k8s.io", "MutatingWebhookConfiguration"}:   5,
}

// Wave is the number of the wave in which an object of this kind is applied, 0 first; deletions go
// the other way. Kinds it does not know come last.
func Wave(ref api.ObjectRef) int {
	if wave, ok := waveOf[groupKind{group(ref.APIVersion), ref.Kind}]; ok {
		return wave
	}
	return lastWave
}
