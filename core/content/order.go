package content

import (
	"cmp"
	"slices"
	"strings"

	"flotilla/core/api"
)

// applyOrder lists kinds in the order in which they are applied: first what others stand on.
var applyOrder = strings.Fields(`
	PriorityClass Namespace NetworkPolicy ResourceQuota LimitRange PodDisruptionBudget ServiceAccount Secret ConfigMap
	StorageClass PersistentVolume PersistentVolumeClaim CustomResourceDefinition ClusterRole ClusterRoleBinding Role
	RoleBinding Service DaemonSet Pod ReplicationController ReplicaSet Deployment HorizontalPodAutoscaler StatefulSet
	Job CronJob IngressClass Ingress APIService MutatingWebhookConfiguration ValidatingWebhookConfiguration`)

var applyRank = rankKinds(applyOrder)

func rankKinds(kinds []string) map[string]int {
	ranks := make(map[string]int, len(kinds))
	for i, kind := range kinds {
		ranks[kind] = i
	}
	return ranks
}

// SortManifests returns a copy of manifests in apply order: by kind as listed there,
// unknown kinds last; equal ranks by group and version, then kind, then namespace and name.
func SortManifests(manifests []api.Manifest) []api.Manifest {
	sorted := slices.Clone(manifests)
	slices.SortFunc(sorted, func(a, b api.Manifest) int {
		return cmp.Or(
			cmp.Compare(rankOf(a.Kind), rankOf(b.Kind)),
			cmp.Compare(a.APIVersion, b.APIVersion),
			cmp.Compare(a.Kind, b.Kind),
			cmp.Compare(a.Namespace, b.Namespace),
			cmp.Compare(a.Name, b.Name),
		)
	})
	return sorted
}

func rankOf(kind string) int {
	if rank, found := applyRank[kind]; found {
		return rank
	}
	return len(applyOrder)
}
