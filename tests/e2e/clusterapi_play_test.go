//go:build e2e && drivers

package e2e

import (
	"context"
	"fmt"
	"net/url"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"flotilla/agent/management"
	"flotilla/tests/e2e/lab"
)

var (
	playClusters = schema.GroupVersionResource{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta2", Resource: "playclusters"}
	playMachines = schema.GroupVersionResource{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta2", Resource: "playmachines"}
)

// infrastructure is what Cluster API asks to make machines: each is a node that kwok plays, of the version that its
// Machine is for. Those of the control plane have the pods that kubeadm would start on them.
type infrastructure struct {
	clusters func(name string) *lab.Cluster
	objects  dynamic.Interface
	ns       string
	last     error
}

// plays plays the infrastructure of a namespace of a management cluster until the test ends. Clusters are called as those
// of the lab.
func plays(t testing.TB, ns string, c *lab.Cluster) {
	t.Helper()
	i := &infrastructure{clusters: clusters.Cluster, objects: objectsOf(t, c), ns: ns}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { i.run(ctx) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
		if t.Failed() {
			t.Logf("the infrastructure last met: %v", i.last)
		}
	})
}

func (i *infrastructure) run(ctx context.Context) {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		if err := i.look(ctx); err != nil && ctx.Err() == nil {
			i.last = err
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// look makes what is to be there, and is not.
func (i *infrastructure) look(ctx context.Context) error {
	all, err := i.objects.Resource(playClusters).Namespace(i.ns).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for n := range all.Items {
		of := i.clusters(all.Items[n].GetLabels()[management.LabelCluster])
		host, port := hostPort(of.Server())
		change := fmt.Sprintf(`{"spec":{"controlPlaneEndpoint":{"host":%q,"port":%s}},"status":{"initialization":{"provisioned":true}}}`, host, port)
		if err := i.write(ctx, playClusters, &all.Items[n], change); err != nil {
			return err
		}
	}
	machines, err := i.objects.Resource(playMachines).Namespace(i.ns).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for n := range machines.Items {
		if err := i.machine(ctx, &machines.Items[n]); err != nil {
			return err
		}
	}
	return nil
}

// write changes an object, once.
func (i *infrastructure) write(ctx context.Context, kind schema.GroupVersionResource, o *unstructured.Unstructured, change string) error {
	if done, _, _ := unstructured.NestedBool(o.Object, "status", "initialization", "provisioned"); done {
		return nil
	}
	_, err := i.objects.Resource(kind).Namespace(i.ns).Patch(ctx, o.GetName(), types.MergePatchType, []byte(change), metav1.PatchOptions{})
	return err
}

// machine makes one as soon as Cluster API says what it is to start with.
func (i *infrastructure) machine(ctx context.Context, o *unstructured.Unstructured) error {
	owner := metav1.GetControllerOf(o)
	done, _, _ := unstructured.NestedBool(o.Object, "status", "initialization", "provisioned")
	if owner == nil || owner.Kind != "Machine" || done || o.GetDeletionTimestamp() != nil {
		return nil
	}
	m, err := i.objects.Resource(management.Machines).Namespace(i.ns).Get(ctx, owner.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if data, _, _ := unstructured.NestedString(m.Object, "spec", "bootstrap", "dataSecretName"); data == "" {
		return nil
	}
	version, _, err := unstructured.NestedString(m.Object, "spec", "version")
	if err != nil {
		return err
	}
	clients := i.clusters(m.GetLabels()[management.LabelCluster]).Clients().CoreV1()
	node := lab.Node(o.GetName())
	node.Spec.ProviderID = "play://" + o.GetName()
	node.Status.NodeInfo.KubeletVersion = version
	_, controller := m.GetLabels()[management.LabelControlPlane]
	if controller {
		node.Labels["node-role.kubernetes.io/control-plane"] = ""
		node.Spec.Taints = []corev1.Taint{{Key: "node-role.kubernetes.io/control-plane", Effect: corev1.TaintEffectNoSchedule}}
	}
	if _, err := clients.Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	if controller {
		if err := controls(ctx, clients, o.GetName(), version); err != nil {
			return err
		}
	}
	return i.write(ctx, playMachines, o, fmt.Sprintf(`{"spec":{"providerID":%q},"status":{"initialization":{"provisioned":true}}}`, node.Spec.ProviderID))
}

// controls makes what kubeadm does on a node of the control plane.
func controls(ctx context.Context, clients typedcorev1.CoreV1Interface, node, version string) error {
	config := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "kubeadm-config", Namespace: metav1.NamespaceSystem},
		Data:       map[string]string{"ClusterConfiguration": "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\nkubernetesVersion: " + version + "\n"},
	}
	if _, err := clients.ConfigMaps(metav1.NamespaceSystem).Create(ctx, config, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	for _, component := range []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler"} {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name: component + "-" + node, Namespace: metav1.NamespaceSystem, Labels: map[string]string{"component": component, "tier": "control-plane"},
				Annotations: map[string]string{corev1.MirrorPodAnnotationKey: "played"},
			},
			Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: component, Image: "registry.k8s.io/" + component + ":" + version}}, Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}}},
		}
		if _, err := clients.Pods(metav1.NamespaceSystem).Create(ctx, pod, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return nil
}

func hostPort(server string) (host, port string) {
	at, err := url.Parse(server)
	if err != nil {
		return "", ""
	}
	return at.Hostname(), at.Port()
}
