//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"flotilla/tests/e2e/lab"
)

// shop is a namespace with what runs in it, at an image, placed on all members.
func shop(image string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: web, namespace: shop}
data: {image: %[1]s}
---
apiVersion: v1
kind: Secret
metadata: {name: web, namespace: shop}
stringData: {password: hunter2}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {selector: {app: web}, ports: [{port: 80}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: %[1]s}]}
---
apiVersion: placement.kubernetes-fleet.io/v1
kind: ClusterResourcePlacement
metadata: {name: shop}
spec:
  resourceSelectors: [{group: "", version: v1, kind: Namespace, name: shop}]
  policy: {placementType: PickAll}
  strategy: {rollingUpdate: {maxUnavailable: 100%%, unavailablePeriodSeconds: 0}}
`, image)
}

// What is placed on real clusters becomes available there by their own controllers, changes with its image, is put
// right when somebody changes it, and is gone when its placement is.
func TestWhatIsPlacedRunsOnRealClusters(t *testing.T) {
	members := []string{"m1", "m2", "m3"}
	f := newFleet(t, members...)
	f.apply(shop("registry.example/web:v1"))
	f.run("wait", "placement/shop", "--for=condition=ClusterResourcePlacementAvailable", "--timeout=2m")
	for _, member := range members {
		require.NoError(t, available(t.Context(), clusterOf(t, member), "shop", "web"))
	}
	f.apply(shop("registry.example/web:v2"))
	f.run("wait", "placement/shop", "--for=condition=ClusterResourcePlacementAvailable", "--timeout=2m")
	for _, member := range members {
		require.Equal(t, "registry.example/web:v2", imageOf(t, clusterOf(t, member)))
	}

	c := clusterOf(t, "m2")
	patch := []byte(`{"data":{"image":"tampered","theirs":"stays"}}`)
	_, err := c.Clients().CoreV1().ConfigMaps("shop").Patch(t.Context(), "web", types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "kubectl-edit"})
	require.NoError(t, err)
	eventually(t, func(ctx context.Context) error {
		found, err := c.Clients().CoreV1().ConfigMaps("shop").Get(ctx, "web", metav1.GetOptions{})
		if err == nil && found.Data["image"] != "registry.example/web:v2" {
			err = fmt.Errorf("found %v", found.Data)
		}
		if err == nil && found.Data["theirs"] != "stays" {
			err = errors.New("a field of another owner is gone")
		}
		return err
	})

	f.run("delete", "placement", "shop", "--wait")
	for _, member := range members {
		eventually(t, func(ctx context.Context) error { return gone(ctx, clusterOf(t, member), "shop") })
		require.Empty(t, inventories(t, clusterOf(t, member)))
	}
}

func imageOf(t *testing.T, c *lab.Cluster) string {
	t.Helper()
	d, err := c.Clients().AppsV1().Deployments("shop").Get(t.Context(), "web", metav1.GetOptions{})
	require.NoError(t, err)
	return d.Spec.Template.Spec.Containers[0].Image
}

// gone is an error until there is no such namespace.
func gone(ctx context.Context, c *lab.Cluster, namespace string) error {
	_, err := c.Clients().CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{})
	switch {
	case err == nil:
		return fmt.Errorf("namespace %s is still there", namespace)
	case apierrors.IsNotFound(err):
		return nil
	}
	return err
}

func inventories(t *testing.T, c *lab.Cluster) []corev1.ConfigMap {
	t.Helper()
	list, err := c.Clients().CoreV1().ConfigMaps("flotilla-system").List(t.Context(), metav1.ListOptions{LabelSelector: "flotilla.io/inventory=true"})
	require.NoError(t, err)
	return list.Items
}
