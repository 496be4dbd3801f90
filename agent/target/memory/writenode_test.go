package memory

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/agent/target"
	"flotilla/agent/target/memory/faults"
	"flotilla/core/api"
)

func nodeNamed(t *testing.T, m *Member, name string) *corev1.Node {
	t.Helper()
	for _, n := range survey(t, m).Nodes {
		if n.Name == name {
			return n
		}
	}
	return nil
}

func TestNodesAreWritten(t *testing.T) {
	m, _ := world(t, Options{Nodes: nodes("a", "b")})
	changes := m.Watch(t.Context())
	before := nodeNamed(t, m, "a")
	taint := corev1.Taint{Key: "k", Value: "v", Effect: corev1.TaintEffectNoSchedule}
	require.NoError(t, m.UpdateNode(t.Context(), "a", func(n *corev1.Node) {
		n.Labels["l"], n.Annotations = "1", map[string]string{"n": "2"}
		n.Finalizers, n.Spec.Taints, n.Spec.Unschedulable = []string{"f"}, []corev1.Taint{taint}, true
		n.UID, n.Status.Capacity, n.CreationTimestamp = "x", nil, metav1.Time{}
	}))
	after := nodeNamed(t, m, "a")
	require.Equal(t, []string{"1", "2", "f"}, []string{after.Labels["l"], after.Annotations["n"], after.Finalizers[0]})
	require.Equal(t, []corev1.Taint{taint, {Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}}, after.Spec.Taints)
	require.Equal(t, before.UID, after.UID)
	require.Equal(t, before.Status, after.Status)
	require.Equal(t, before.CreationTimestamp, after.CreationTimestamp)
	require.Empty(t, before.Labels["l"], "what was seen does not change")
	require.Contains(t, drain(changes), target.Change{Nodes: true})
	require.NoError(t, m.UpdateNode(t.Context(), "a", func(*corev1.Node) {}))
	require.Empty(t, drain(changes), "no change is none")
	create(t, m, app("Deployment", "web", 1, "1", ""))
	require.Equal(t, "web=b", where(t, m))

	m.SetFaults(faults.Faults{NotReady: []string{"a"}})
	require.NoError(t, m.UpdateNode(t.Context(), "a", func(n *corev1.Node) { n.Spec.Taints, n.Spec.Unschedulable = nil, false }))
	require.Equal(t, []corev1.Taint{{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}}, nodeNamed(t, m, "a").Spec.Taints, "it comes back")
	require.NoError(t, m.UpdateNode(t.Context(), "a", func(n *corev1.Node) { n.Labels["l"] = "2" }))
	m.SetFaults(faults.Faults{})
	require.Empty(t, nodeNamed(t, m, "a").Spec.Taints, "and goes with its cause")
	require.True(t, apierrors.IsNotFound(m.UpdateNode(t.Context(), "c", func(*corev1.Node) {})))
}

func TestTaintsThatEndPods(t *testing.T) {
	m, clock := world(t, Options{Nodes: nodes("a", "b")})
	create(t, m, app("StatefulSet", "db", 1, "1", ""))
	create(t, m, app("StatefulSet", "hard", 1, "1", "tolerations: [{operator: Exists}], "))
	require.NoError(t, m.UpdateNode(t.Context(), "a", func(n *corev1.Node) {
		n.Spec.Taints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoExecute}}
	}))
	require.Equal(t, "db-0!=a hard-0=a", where(t, m))
	clock.Advance(30 * time.Second)
	require.Equal(t, "db-0=b hard-0=a", where(t, m))
}

func TestNodesLeaveWithTheirLastFinalizer(t *testing.T) {
	m, clock := world(t, Options{Nodes: nodes("a", "b")})
	create(t, m, app("StatefulSet", "db", 1, "1", ""))
	create(t, m, app("DaemonSet", "log", 1, "100m", ""))
	create(t, m, "{apiVersion: v1, kind: Pod, metadata: {name: bare, namespace: shop}, spec: {containers: [{name: c, image: i}]}}")
	require.NoError(t, m.UpdateNode(t.Context(), "a", func(n *corev1.Node) { n.Finalizers = []string{"f", "g"} }))
	a := nodeNamed(t, m, "a")
	require.True(t, apierrors.IsConflict(m.DeleteNode(t.Context(), "a", "another")))
	require.NoError(t, m.DeleteNode(t.Context(), "a", string(a.UID)))
	clock.Advance(time.Minute)
	require.NoError(t, m.DeleteNode(t.Context(), "a", ""), "again is no error")
	require.Equal(t, testNow, nodeNamed(t, m, "a").DeletionTimestamp.UTC(), "and does not begin anew")
	require.Equal(t, "bare=a db-0=a log=a log=b", where(t, m), "its pods are there as long as it is")
	drop := func(n *corev1.Node) { n.Finalizers = n.Finalizers[1:] }
	require.NoError(t, m.UpdateNode(t.Context(), "a", drop))
	require.NotNil(t, nodeNamed(t, m, "a"))
	changes := m.Watch(t.Context())
	require.NoError(t, m.UpdateNode(t.Context(), "a", drop))
	require.Nil(t, nodeNamed(t, m, "a"))
	require.Contains(t, drain(changes), target.Change{Nodes: true})
	require.Equal(t, "db-0=b log=b", where(t, m))
	require.Equal(t, []string{"a", "b"}, m.Machines(), "its machine is the provider's to take away")
	require.True(t, apierrors.IsNotFound(m.DeleteNode(t.Context(), "a", "")))
	require.NoError(t, m.DeleteNode(t.Context(), "b", ""))
	require.Equal(t, "db-0?", where(t, m))
	require.True(t, apierrors.IsServiceUnavailable(func() error { m.SetFaults(faults.Faults{Off: true}); return m.DeleteNode(t.Context(), "b", "") }()))
}

// Daemons go to every node that their selector and tolerations allow, and are not made on nodes that are
// being disrupted.
func TestDaemonsKnowTheirNodes(t *testing.T) {
	given := nodes("a", "b", "c")
	given[0].Labels = map[string]string{"disk": "ssd"}
	given[1].Labels = map[string]string{"disk": "ssd"}
	given[1].Taints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoSchedule}}
	given[2].Taints = []corev1.Taint{{Key: "soft", Effect: corev1.TaintEffectPreferNoSchedule}}
	m, clock := world(t, Options{Nodes: given})
	create(t, m, app("DaemonSet", "all", 1, "100m", ""))
	create(t, m, app("DaemonSet", "ssd", 1, "100m", "nodeSelector: {disk: ssd}, tolerations: [{key: k, operator: Exists}], "))
	require.Equal(t, "all=a all=c ssd=a ssd=b", where(t, m))
	require.NoError(t, m.UpdateNode(t.Context(), "a", func(n *corev1.Node) { n.Spec.Unschedulable = true }))
	require.NoError(t, m.Evict(t.Context(), refOf(podNamed(t, m, "all"))))
	clock.Advance(30 * time.Second)
	require.Equal(t, "all=a all=c ssd=a ssd=b", where(t, m), "daemons tolerate a cordon")
	cordon(t, m, "a")
	require.Equal(t, "all=a all=c ssd=a ssd=b", where(t, m), "those that run stay")
	for _, p := range survey(t, m).Pods {
		if p.Spec.NodeName == "a" {
			require.NoError(t, m.Evict(t.Context(), refOf(p)))
		}
	}
	clock.Advance(30 * time.Second)
	require.Equal(t, "all=c ssd=b", where(t, m))
	require.NoError(t, m.UpdateNode(t.Context(), "a", func(n *corev1.Node) {
		n.Spec.Taints = []corev1.Taint{{Key: api.TaintDisrupted, Effect: corev1.TaintEffectPreferNoSchedule}}
	}))
	require.Equal(t, "all=a all=c ssd=a ssd=b", where(t, m))
}
