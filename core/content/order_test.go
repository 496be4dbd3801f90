package content_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/content"
)

func manifest(text string) api.Manifest {
	parts := strings.Split(text, " ")
	return api.Manifest{ObjectRef: api.ObjectRef{APIVersion: parts[0], Kind: parts[1], Namespace: parts[2], Name: parts[3]}}
}

func TestSortManifests(t *testing.T) {
	want := []api.Manifest{}
	for _, text := range []string{
		"scheduling.k8s.io/v1 PriorityClass  high",
		"v1 Namespace  shop",
		"networking.k8s.io/v1 NetworkPolicy shop np",
		"v1 ResourceQuota shop q",
		"v1 LimitRange shop l",
		"policy/v1 PodDisruptionBudget shop b",
		"v1 ServiceAccount shop sa",
		"v1 Secret shop s",
		"v1 ConfigMap blog z",
		"v1 ConfigMap shop a",
		"v1 ConfigMap shop b",
		"storage.k8s.io/v1 StorageClass  fast",
		"v1 PersistentVolume  pv",
		"v1 PersistentVolumeClaim shop pvc",
		"apiextensions.k8s.io/v1 CustomResourceDefinition  widgets.example.com",
		"rbac.authorization.k8s.io/v1 ClusterRole  r",
		"rbac.authorization.k8s.io/v1 ClusterRoleBinding  r",
		"rbac.authorization.k8s.io/v1 Role shop r",
		"rbac.authorization.k8s.io/v1 RoleBinding shop r",
		"serving.knative.dev/v1 Service shop web",
		"v1 Service shop web",
		"apps/v1 DaemonSet shop d",
		"apps/v1 ReplicaSet shop d",
		"apps/v1 Deployment shop d",
		"autoscaling/v2 HorizontalPodAutoscaler shop d",
		"apps/v1 StatefulSet shop d",
		"batch/v1 Job shop j",
		"batch/v1 CronJob shop j",
		"networking.k8s.io/v1 IngressClass  nginx",
		"networking.k8s.io/v1 Ingress shop web",
		"apiregistration.k8s.io/v1 APIService  v1.example.com",
		"admissionregistration.k8s.io/v1 MutatingWebhookConfiguration  w",
		"admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration  w",
		"example.com/v1 Anvil shop a",
		"example.com/v1 Widget shop a",
		"example.com/v2 Anvil shop a",
	} {
		want = append(want, manifest(text))
	}
	given := slices.Clone(want)
	slices.Reverse(given)
	before := slices.Clone(given)

	require.Equal(t, want, content.SortManifests(given))
	require.Equal(t, before, given, "the input stays as it was")
}

func TestKeyIgnoresTheVersion(t *testing.T) {
	require.Equal(t,
		content.Key(api.ObjectRef{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "n", Name: "a"}),
		content.Key(api.ObjectRef{APIVersion: "apps/v1beta2", Kind: "Deployment", Namespace: "n", Name: "a"}))
	require.NotEqual(t,
		content.Key(api.ObjectRef{APIVersion: "v1", Kind: "Deployment", Namespace: "n", Name: "a"}),
		content.Key(api.ObjectRef{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "n", Name: "a"}))
}
