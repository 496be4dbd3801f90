//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"flotilla/tests/e2e/lab"
)

func podOf(image string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: image}}},
	}
}

// deploy creates Deployment web and returns its name.
func deploy(t *testing.T, c *lab.Cluster, ns, image string, replicas int32) string {
	t.Helper()
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Template: podOf(image),
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
		},
	}
	_, err := c.Clients().AppsV1().Deployments(ns).Create(t.Context(), d, metav1.CreateOptions{})
	require.NoError(t, err)
	return d.Name
}

// scale gives a Deployment so many replicas and waits until they are available.
func scale(t *testing.T, c *lab.Cluster, ns, name string, replicas int) {
	t.Helper()
	patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)
	_, err := c.Clients().AppsV1().Deployments(ns).Patch(t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{})
	require.NoError(t, err)
	eventually(t, func(ctx context.Context) error { return available(ctx, c, ns, name) })
}

func TestADeploymentBecomesAvailable(t *testing.T) {
	c := clusterOf(t, "m1")
	ns := namespace(t, c)
	scale(t, c, ns, deploy(t, c, ns, "registry.example/web:v1", 1), 4)
}

func TestAnImageEndsAsItsTagSays(t *testing.T) {
	for tag, reason := range map[string]string{"crash": "CrashLoopBackOff", "missing": "ImagePullBackOff"} {
		t.Run(tag, func(t *testing.T) {
			c := clusterOf(t, "m2")
			ns := namespace(t, c)
			deploy(t, c, ns, "registry.example/web:"+tag, 1)
			eventually(t, func(ctx context.Context) error { return waiting(ctx, c, ns, reason) })
			require.Error(t, available(t.Context(), c, ns, "web"))
		})
	}
}

func TestAJobIsDone(t *testing.T) {
	c := clusterOf(t, "m2")
	ns := namespace(t, c)
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "once"}, Spec: batchv1.JobSpec{Template: podOf("registry.example/once:v1")}}
	job.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	_, err := c.Clients().BatchV1().Jobs(ns).Create(t.Context(), job, metav1.CreateOptions{})
	require.NoError(t, err)
	eventually(t, func(ctx context.Context) error {
		found, err := c.Clients().BatchV1().Jobs(ns).Get(ctx, "once", metav1.GetOptions{})
		if err == nil && found.Status.CompletionTime == nil {
			err = fmt.Errorf("found %+v", found.Status)
		}
		return err
	})
}

// TestEvictionMovesPods empties a node as a drain does, first against a budget that allows nothing.
func TestEvictionMovesPods(t *testing.T) {
	c := clusterOf(t, "m3")
	ns := namespace(t, c)
	const drained = "drained"
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, c.AddNode(ctx, lab.Node(drained)))
	t.Cleanup(func() {
		_ = c.Clients().CoreV1().Nodes().Delete(context.Background(), drained, metav1.DeleteOptions{})
	})
	deploy(t, c, ns, "registry.example/web:v1", 6)
	var pods []string
	eventually(t, func(ctx context.Context) (err error) {
		pods, err = podsOn(ctx, c, ns, drained)
		if err == nil && len(pods) == 0 {
			err = fmt.Errorf("found no pod of %s on %s", ns, drained)
		}
		return err
	})
	cordon := []byte(`{"spec":{"unschedulable":true}}`)
	_, err := c.Clients().CoreV1().Nodes().Patch(t.Context(), drained, types.MergePatchType, cordon, metav1.PatchOptions{})
	require.NoError(t, err)
	eventually(t, func(ctx context.Context) error { return available(ctx, c, ns, "web") })

	protect(t, c, ns, 0)
	for _, pod := range pods {
		require.True(t, apierrors.IsTooManyRequests(evict(t.Context(), c, ns, pod)))
	}
	protect(t, c, ns, 1)
	eventually(t, func(ctx context.Context) error {
		left, err := podsOn(ctx, c, ns, drained)
		for _, pod := range left {
			if refused := evict(ctx, c, ns, pod); !apierrors.IsTooManyRequests(refused) && !apierrors.IsNotFound(refused) {
				require.NoError(t, refused)
			}
			err = fmt.Errorf("found %v on %s, expected none", left, drained)
		}
		return err
	})
	eventually(t, func(ctx context.Context) error { return available(ctx, c, ns, "web") })
}

func podsOn(ctx context.Context, c *lab.Cluster, ns, node string) (names []string, err error) {
	pods, err := c.Clients().CoreV1().Pods(ns).List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + node})
	if err != nil {
		return nil, err
	}
	for i := range pods.Items {
		names = append(names, pods.Items[i].Name)
	}
	return names, nil
}

func evict(ctx context.Context, c *lab.Cluster, ns, pod string) error {
	return c.Clients().PolicyV1().Evictions(ns).Evict(ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: pod, Namespace: ns}})
}

// protect says how many pods may be away, and waits until the disruption controller has taken that in.
func protect(t *testing.T, c *lab.Cluster, ns string, away int32) {
	t.Helper()
	budgets := c.Clients().PolicyV1().PodDisruptionBudgets(ns)
	_ = budgets.Delete(t.Context(), "web", metav1.DeleteOptions{})
	most := intstr.FromInt32(away)
	_, err := budgets.Create(t.Context(), &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable: &most, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	eventually(t, func(ctx context.Context) error {
		budget, err := budgets.Get(ctx, "web", metav1.GetOptions{})
		if err == nil && (budget.Status.ObservedGeneration < budget.Generation || budget.Status.DisruptionsAllowed != away) {
			err = fmt.Errorf("found %+v, expected %d disruptions to be allowed", budget.Status, away)
		}
		return err
	})
}
