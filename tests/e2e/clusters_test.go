//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"flotilla/tests/e2e/lab"
)

func TestClustersKnowNothingOfEachOther(t *testing.T) {
	m1 := clusterOf(t, "m1")
	ns := namespace(t, m1)
	identity := map[string]string{}
	for _, name := range members {
		c := clusters.Cluster(name)
		system, err := c.Clients().CoreV1().Namespaces().Get(t.Context(), metav1.NamespaceSystem, metav1.GetOptions{})
		require.NoError(t, err)
		require.NotContains(t, identity, string(system.UID))
		identity[string(system.UID)] = name
		_, err = c.Clients().CoreV1().Namespaces().Get(t.Context(), ns, metav1.GetOptions{})
		require.Equal(t, name != "m1", apierrors.IsNotFound(err), "%s: %v", name, err)
		if name == "m1" {
			continue
		}
		foreign := m1.Config()
		foreign.Host = c.Server()
		require.ErrorContains(t, asks(t, foreign), "certificate signed by unknown authority")
		foreign.CAData = c.Config().CAData
		require.True(t, apierrors.IsUnauthorized(asks(t, foreign)), "%s lets in the admin of m1", name)
	}
}

// asks asks for the namespaces.
func asks(t *testing.T, config *rest.Config) error {
	t.Helper()
	clients, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	_, err = clients.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{})
	return err
}

func TestUsersMayWhatRolesSay(t *testing.T) {
	c := clusterOf(t, "m1")
	ns := namespace(t, c)
	path, err := c.Kubeconfig("jane", "auditors")
	require.NoError(t, err)
	config, err := clientcmd.BuildConfigFromFlags("", path)
	require.NoError(t, err)
	jane, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	reads := func(ctx context.Context) error {
		_, err := jane.CoreV1().ConfigMaps(ns).List(ctx, metav1.ListOptions{})
		return err
	}
	require.EqualError(t, reads(t.Context()), fmt.Sprintf(
		`configmaps is forbidden: User "jane" cannot list resource "configmaps" in API group "" in the namespace %q`, ns))

	role := &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: "readers"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"list"}}},
	}
	_, err = c.Clients().RbacV1().Roles(ns).Create(t.Context(), role, metav1.CreateOptions{})
	require.NoError(t, err)
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "readers"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "readers"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "auditors"}},
	}
	_, err = c.Clients().RbacV1().RoleBindings(ns).Create(t.Context(), binding, metav1.CreateOptions{})
	require.NoError(t, err)
	eventually(t, reads)

	impersonated := c.Config()
	impersonated.Impersonate = rest.ImpersonationConfig{UserName: "joe", Groups: []string{"auditors"}}
	joe, err := kubernetes.NewForConfig(impersonated)
	require.NoError(t, err)
	_, err = joe.CoreV1().ConfigMaps(ns).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	_, err = joe.CoreV1().Secrets(ns).List(t.Context(), metav1.ListOptions{})
	require.True(t, apierrors.IsForbidden(err), "%v", err)
}

func TestRequestsAreCountedByUser(t *testing.T) {
	c := clusterOf(t, "m2")
	config := c.Config()
	config.Impersonate = rest.ImpersonationConfig{UserName: "counted", Groups: []string{"system:masters"}}
	for range 3 {
		require.NoError(t, asks(t, config))
	}
	wanted := lab.Request{User: "counted", Verb: "list", Resource: "namespaces", Code: 200}
	eventually(t, func(context.Context) error {
		requests, err := c.Requests()
		if err != nil {
			return err
		}
		var found []lab.Request
		for _, r := range requests {
			if r.User == "counted" {
				found = append(found, r)
			}
		}
		if len(found) != 3 {
			return fmt.Errorf("found %v, expected 3 requests", found)
		}
		require.Equal(t, []lab.Request{wanted, wanted, wanted}, found)
		return nil
	})
}

func TestAnAPIServerComesBack(t *testing.T) {
	c := clusterOf(t, "m3")
	ns := namespace(t, c)
	scale(t, c, ns, deploy(t, c, ns, "registry.example/web:v1", 1), 2)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, c.Restart(ctx))
	c.Kill()
	require.Error(t, asks(t, c.Config()), "none runs: the one that was restarted ended first")
	require.NoError(t, asks(t, clusters.Cluster("m2").Config()), "the others stay")
	require.NoError(t, c.Restart(ctx))
	scale(t, c, ns, "web", 3)
}

func TestKubectlIsThere(t *testing.T) {
	c := clusterOf(t, "m1")
	path, err := c.Admin()
	require.NoError(t, err)
	node, err := c.Clients().CoreV1().Nodes().Get(t.Context(), "node-1", metav1.GetOptions{})
	require.NoError(t, err)
	for verb, wanted := range map[string]string{
		"version": "Server Version: " + node.Status.NodeInfo.KubeletVersion + "\n",
		"get":     "node-2",
	} {
		command := exec.CommandContext(t.Context(), programs.Kubectl(), verb, "--kubeconfig="+path)
		if verb == "get" {
			command.Args = append(command.Args, "nodes")
		}
		out, err := command.CombinedOutput()
		require.NoError(t, err, string(out))
		require.Contains(t, string(out), wanted)
	}
}

// TestNodesRenewTheirLeases looks at what keeps a node Ready beyond 40 s.
func TestNodesRenewTheirLeases(t *testing.T) {
	c := clusterOf(t, "m1")
	eventually(t, func(ctx context.Context) error {
		lease, err := c.Clients().CoordinationV1().Leases(corev1.NamespaceNodeLease).Get(ctx, "node-1", metav1.GetOptions{})
		if err == nil && (lease.Spec.RenewTime == nil || *lease.Spec.LeaseDurationSeconds != 40) {
			err = fmt.Errorf("found %+v", lease.Spec)
		}
		return err
	})
}

// available is an error until all replicas of a Deployment are.
func available(ctx context.Context, c *lab.Cluster, ns, name string) error {
	d, err := c.Clients().AppsV1().Deployments(ns).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if d.Status.ObservedGeneration < d.Generation || d.Status.AvailableReplicas != *d.Spec.Replicas || d.Status.UpdatedReplicas != *d.Spec.Replicas {
		return fmt.Errorf("%d replicas of generation %d wanted, found %+v", *d.Spec.Replicas, d.Generation, d.Status)
	}
	return nil
}

// waiting is an error until a pod of a namespace waits for a reason.
func waiting(ctx context.Context, c *lab.Cluster, ns, reason string) error {
	pods, err := c.Clients().CoreV1().Pods(ns).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	var found []corev1.ContainerState
	for i := range pods.Items {
		for _, status := range pods.Items[i].Status.ContainerStatuses {
			if status.State.Waiting != nil && status.State.Waiting.Reason == reason {
				return nil
			}
			found = append(found, status.State)
		}
	}
	return fmt.Errorf("found %v, expected one that waits for %s", found, reason)
}
