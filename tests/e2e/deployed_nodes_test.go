//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"slices"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"flotilla/core/api"
	"flotilla/tests/e2e/lab"
)

// emptiesNodes has the agent delete a node by all that it does to nodes: a finalizer and a taint, an eviction, the deletion
// of a pod that its budget keeps until the node's grace is over, and the deletion of the node.
func (f *fleet) emptiesNodes(c *lab.Cluster) {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.Context(), patience)
	defer cancel()
	const name = "deployed"
	require.NoError(f, c.AddNode(ctx, lab.Node(name)))
	nodes := c.Clients().CoreV1().Nodes()
	patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:"workers"},"annotations":{%q:"6s"}},"spec":{"taints":[{"key":%q,"value":"deployed","effect":"NoSchedule"}]}}`,
		api.LabelNodePool, api.AnnotationTerminationGracePeriod, harnessTaint.Key)
	_, err := nodes.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
	require.NoError(f, err)
	f.until(func(ctx context.Context) error {
		node, err := nodes.Get(ctx, name, metav1.GetOptions{})
		if err == nil && !finalized(node) {
			err = fmt.Errorf("node %s has finalizers %v", name, node.Finalizers)
		}
		return err
	})
	ns := namespace(f.TB, c)
	f.bind(c, ns, "free", name)
	f.bind(c, ns, "kept", name)
	f.keep(c, ns, "kept")
	f.until(func(context.Context) error {
		_, err := f.try("delete", "node", name, "-m", "m1")
		return err
	})
	f.until(func(ctx context.Context) error { return goneNode(ctx, c, name) })
	f.asked(c, "patch nodes", "delete nodes", "create pods/eviction", "delete pods")
}

// bind puts a pod on a node.
func (f *fleet) bind(c *lab.Cluster, ns, name, node string) {
	f.Helper()
	template := podOf("registry.example/web:v1")
	template.Spec.NodeName, template.Spec.TerminationGracePeriodSeconds = node, new(int64(1))
	template.Spec.Tolerations = []corev1.Toleration{{Key: harnessTaint.Key, Operator: corev1.TolerationOpExists}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": name}}, Spec: template.Spec}
	pods := c.Clients().CoreV1().Pods(ns)
	f.until(func(ctx context.Context) error { // until the namespace has its service account
		_, err := pods.Create(ctx, pod, metav1.CreateOptions{})
		return err
	})
	f.until(func(ctx context.Context) error {
		found, err := pods.Get(ctx, name, metav1.GetOptions{})
		if err == nil && found.Status.Phase != corev1.PodRunning {
			err = fmt.Errorf("pod %s is %+v", name, found.Status)
		}
		return err
	})
}

// keep has a budget let no pod of an app go.
func (f *fleet) keep(c *lab.Cluster, ns, app string) {
	f.Helper()
	budgets := c.Clients().PolicyV1().PodDisruptionBudgets(ns)
	_, err := budgets.Create(f.Context(), &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: app},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: new(intstr.FromInt32(1)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}},
		},
	}, metav1.CreateOptions{})
	require.NoError(f, err)
	f.until(func(ctx context.Context) error {
		b, err := budgets.Get(ctx, app, metav1.GetOptions{})
		if err == nil && (b.Status.ObservedGeneration < b.Generation || b.Status.CurrentHealthy != 1) {
			err = fmt.Errorf("found %+v", b.Status)
		}
		return err
	})
}

func goneNode(ctx context.Context, c *lab.Cluster, name string) error {
	node, err := c.Clients().CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	switch {
	case err == nil:
		return fmt.Errorf("node %s is still there: %+v", name, node.ObjectMeta)
	case apierrors.IsNotFound(err):
		return nil
	}
	return err
}

// asked expects requests of the agent's service account that were granted, each a verb and a resource.
func (f *fleet) asked(c *lab.Cluster, wanted ...string) {
	f.Helper()
	f.until(func(context.Context) error {
		requests, err := c.Requests()
		if err != nil {
			return err
		}
		for _, one := range wanted {
			if !slices.ContainsFunc(requests, func(r lab.Request) bool {
				return r.User == agentUser && r.Verb+" "+r.Resource == one && r.Code/100 == 2
			}) {
				return fmt.Errorf("the agent was granted no %s", one)
			}
		}
		return nil
	})
}
