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

// alone places shop on real clusters: it becomes available there by their own controllers, changes with its image, is
// put right when somebody changes it, and is gone when its placement is. What that takes of the API servers is bounded.
func alone(p *placed) {
	before := counts(p)
	p.fleet.apply(shop("registry.example/web:v1"))
	p.available()
	for _, member := range members {
		require.NoError(p, runs(p.Context(), clusterOf(p, member), "registry.example/web:v1"))
		// Each is looked for and written; the inventory is, too, and its namespace. Kinds are asked for once.
		before[member].requireAtMost(p, 5+2, 2*5+8)
	}
	before = counts(p)
	p.fleet.apply(shop("registry.example/web:v2"))
	p.available()
	for _, member := range members {
		require.NoError(p, runs(p.Context(), clusterOf(p, member), "registry.example/web:v2"))
		before[member].requireAtMost(p, 2, 2) // of which one object may not be known as it was just written
	}

	c := clusterOf(p, lastMember())
	before = counts(p)
	patch := []byte(`{"data":{"image":"tampered","theirs":"stays"}}`)
	_, err := c.Clients().CoreV1().ConfigMaps("shop").Patch(p.Context(), "web", types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "kubectl-edit"})
	require.NoError(p, err)
	p.until(func(ctx context.Context) error {
		found, err := c.Clients().CoreV1().ConfigMaps("shop").Get(ctx, "web", metav1.GetOptions{})
		if err == nil && found.Data["image"] != "registry.example/web:v2" {
			err = fmt.Errorf("found %v", found.Data)
		}
		if err == nil && found.Data["theirs"] != "stays" {
			err = errors.New("a field of another owner is gone")
		}
		return err
	})
	before[lastMember()].requireAtMost(p, 1, 3) // a dry run says first what would change

	p.run("delete", "placement", "shop", "--wait")
	for _, member := range members {
		p.until(func(ctx context.Context) error { return gone(ctx, clusterOf(p, member), "shop") })
		require.Empty(p, inventories(p, clusterOf(p, member)))
	}
}

// imageOf is that of Deployment shop/web.
func imageOf(ctx context.Context, c *lab.Cluster) (string, error) {
	d, err := c.Clients().AppsV1().Deployments("shop").Get(ctx, "web", metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	return d.Spec.Template.Spec.Containers[0].Image, nil
}

// runs is an error until Deployment shop/web is available at an image.
func runs(ctx context.Context, c *lab.Cluster, image string) error {
	found, err := imageOf(ctx, c)
	if err == nil && found != image {
		err = fmt.Errorf("the image is %s, expected %s", found, image)
	}
	if err == nil {
		err = available(ctx, c, "shop", "web")
	}
	return err
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

func inventories(t testing.TB, c *lab.Cluster) []corev1.ConfigMap {
	t.Helper()
	list, err := c.Clients().CoreV1().ConfigMaps("flotilla-system").List(t.Context(), metav1.ListOptions{LabelSelector: "flotilla.io/inventory=true"})
	require.NoError(t, err)
	return list.Items
}
