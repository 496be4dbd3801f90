package clusterapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	fakediscovery "k8s.io/client-go/discovery/fake"
	"k8s.io/client-go/dynamic/fake"
	k8stesting "k8s.io/client-go/testing"
	"sigs.k8s.io/yaml"

	"flotilla/agent/management"
	"flotilla/core/api"
)

const (
	plain = `
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: berlin, namespace: fleet}
spec: {controlPlaneRef: {apiGroup: controlplane.cluster.x-k8s.io, kind: KubeadmControlPlane, name: berlin}}
`
	managed = `
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: berlin, namespace: fleet}
spec:
  controlPlaneRef: {apiGroup: controlplane.cluster.x-k8s.io, kind: KubeadmControlPlane, name: berlin}
  topology:
    version: v1.36.3
    classRef: {name: quick}
    workers:
      machineDeployments:
      - {name: small, class: default, replicas: 2, metadata: {labels: {rack: r1}}}
      - {name: gpu, class: gpu, replicas: 1}
      machinePools:
      - {name: spot, class: spot}
      - {name: small, class: spot}
`
	topologyLabel = `{"metadata":{"labels":{"topology.cluster.x-k8s.io/deployment-name":%q}}}`
)

var controlPlanes = schema.GroupVersionResource{Group: "controlplane.cluster.x-k8s.io", Version: "v1beta2", Resource: "kubeadmcontrolplanes"}

// world is a management cluster whose controllers act when they are told to: a control plane of three machines at
// v1.36.3, and MachineDeployments small, of two, and gpu, of one.
type world struct {
	*testing.T
	driver  *Driver
	objects *fake.FakeDynamicClient
	clock   time.Time
	made    int
	told    []api.UpgradeResult
}

func newWorld(t *testing.T, cluster string) *world {
	t.Helper()
	kinds := map[schema.GroupVersionResource]string{
		management.Clusters: "ClusterList", management.MachineDeployments: "MachineDeploymentList", management.Machines: "MachineList",
		controlPlanes: "KubeadmControlPlaneList",
	}
	w := &world{T: t, objects: fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds), clock: time.Unix(1e9, 0)}
	w.create(management.Clusters, cluster)
	w.create(controlPlanes, `{apiVersion: controlplane.cluster.x-k8s.io/v1beta2, kind: KubeadmControlPlane, metadata: {name: berlin, namespace: fleet, generation: 1}, spec: {version: v1.36.3, replicas: 3}}`)
	for name, replicas := range map[string]int{"small": 2, "gpu": 1} {
		w.create(management.MachineDeployments, fmt.Sprintf(`{apiVersion: cluster.x-k8s.io/v1beta2, kind: MachineDeployment,
  metadata: {name: %s, namespace: fleet, generation: 1, labels: {cluster.x-k8s.io/cluster-name: berlin}},
  spec: {replicas: %d, template: {spec: {version: v1.36.3, bootstrap: {configRef: {name: it}}}}}}`, name, replicas))
		if cluster == managed {
			w.change(management.MachineDeployments, name, fmt.Sprintf(topologyLabel, name))
		}
	}
	for _, of := range []string{"", "small", "gpu"} {
		for w.acts(of) {
		}
	}
	w.restart()
	return w
}

// restart is what an agent does that was killed.
func (w *world) restart() {
	found := &fakediscovery.FakeDiscovery{Fake: &k8stesting.Fake{Resources: []*metav1.APIResourceList{
		{GroupVersion: "controlplane.cluster.x-k8s.io/v1beta2", APIResources: []metav1.APIResource{
			{Name: "kubeadmcontrolplanes/status", Kind: "KubeadmControlPlane"}, {Name: "kubeadmcontrolplanes", Kind: "KubeadmControlPlane"},
		}},
	}}}
	view := management.New(management.Options{Objects: w.objects, Kinds: found, Host: "https://management", Namespace: "fleet", Cluster: "berlin"})
	w.driver = New(Options{View: view, Deadline: time.Hour, LookEvery: time.Nanosecond, Now: func() time.Time { return w.clock }})
	w.told = nil
}

func (w *world) create(kind schema.GroupVersionResource, text string) {
	w.Helper()
	o := &unstructured.Unstructured{}
	body, err := yaml.YAMLToJSON([]byte(text))
	require.NoError(w, err)
	require.NoError(w, o.UnmarshalJSON(body))
	_, err = w.objects.Resource(kind).Namespace("fleet").Create(w.Context(), o, metav1.CreateOptions{})
	require.NoError(w, err)
}

func (w *world) change(kind schema.GroupVersionResource, name, patch string) {
	w.Helper()
	_, err := w.objects.Resource(kind).Namespace("fleet").Patch(w.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	require.NoError(w, err)
}

func (w *world) read(kind schema.GroupVersionResource, name string) *unstructured.Unstructured {
	w.Helper()
	found, err := w.objects.Resource(kind).Namespace("fleet").Get(w.Context(), name, metav1.GetOptions{})
	require.NoError(w, err)
	return found
}

// says is one field of an object, empty where it is not.
func (w *world) says(kind schema.GroupVersionResource, name string, path ...string) string {
	w.Helper()
	text, _, err := unstructured.NestedString(w.read(kind, name).Object, path...)
	require.NoError(w, err)
	return text
}

func (w *world) seen() *survey {
	w.Helper()
	s, err := read(w.Context(), w.driver.o.View)
	require.NoError(w, err)
	return s
}

// acts is one step of the controllers of the control plane, of the empty name, or of a MachineDeployment: a machine that
// is too many goes, or one comes in the version that is wanted. It reports whether there was anything to do.
func (w *world) acts(of string) bool {
	w.Helper()
	kind, name, path := management.MachineDeployments, of, []string{"spec", "template", "spec", "version"}
	label := management.LabelDeployment
	if of == "" {
		kind, name, path, label = controlPlanes, "berlin", []string{"spec", "version"}, management.LabelControlPlane
	}
	found := w.read(kind, name)
	version, _, err := unstructured.NestedString(found.Object, path...)
	require.NoError(w, err)
	replicas, _, err := unstructured.NestedInt64(found.Object, "spec", "replicas")
	require.NoError(w, err)
	all, err := w.objects.Resource(management.Machines).Namespace("fleet").List(w.Context(), metav1.ListOptions{LabelSelector: label + "=" + of})
	require.NoError(w, err)
	stands, fresh, old := map[string]int{}, int64(0), ""
	for _, m := range all.Items {
		is, _, err := unstructured.NestedString(m.Object, "spec", "version")
		require.NoError(w, err)
		stands[is]++
		if is == version {
			fresh++
		} else {
			old = m.GetName()
		}
	}
	acted := true
	switch {
	case int64(len(all.Items)) > replicas:
		require.NoError(w, w.objects.Resource(management.Machines).Namespace("fleet").Delete(w.Context(), old, metav1.DeleteOptions{}))
		stands[w.saysOf(all, old)]--
	case fresh < replicas:
		w.made++
		fresh++
		stands[version]++
		w.create(management.Machines, fmt.Sprintf(`{apiVersion: cluster.x-k8s.io/v1beta2, kind: Machine, metadata: {name: %s-%03d, namespace: fleet, labels: {cluster.x-k8s.io/cluster-name: berlin, %s: %q}},
  spec: {version: %s}, status: {nodeRef: {name: node-%d}, nodeInfo: {kubeletVersion: %s}, conditions: [{type: Ready, status: "True"}]}}`,
			cmp.Or(of, "control"), w.made, label, of, version, w.made, version))
	default:
		acted = false
	}
	var versions []string
	count := 0
	for v, n := range stands {
		if n > 0 {
			versions = append(versions, fmt.Sprintf(`{"version":%q,"replicas":%d}`, v, n))
			count += n
		}
	}
	slices.Sort(versions)
	w.change(kind, name, fmt.Sprintf(`{"status":{"observedGeneration":1,"replicas":%d,"upToDateReplicas":%d,"readyReplicas":%d,"availableReplicas":%d,"versions":[%s]}}`,
		count, fresh, count, count, strings.Join(versions, ",")))
	return acted
}

func (w *world) saysOf(all *unstructured.UnstructuredList, name string) string {
	for _, m := range all.Items {
		if m.GetName() == name {
			is, _, _ := unstructured.NestedString(m.Object, "spec", "version")
			return is
		}
	}
	return ""
}

// topologyActs is what the controller of topologies does: the control plane first, then what is not left behind.
func (w *world) topologyActs() {
	w.Helper()
	s := w.seen()
	if !s.managed() {
		return
	}
	to := s.cluster.Spec.Topology.Version
	if s.control.Spec.Version != to {
		w.change(controlPlanes, "berlin", fmt.Sprintf(`{"spec":{"version":%q}}`, to))
		return
	}
	if s.control.Settled() && reaches(oldest(s.control.Running()...), to) {
		for _, entry := range s.cluster.Spec.Topology.Workers.MachineDeployments {
			if _, behind := entry.Metadata.Annotations[management.AnnotationDefer]; !behind {
				w.change(management.MachineDeployments, entry.Name, fmt.Sprintf(`{"spec":{"template":{"spec":{"version":%q}}}}`, to))
			}
		}
	}
}

var errEnough = errors.New("enough")

// follower is Run or Resume of a driver.
type follower func(context.Context, api.UpgradeOperation, func(api.UpgradeResult)) (api.UpgradeResult, bool, error)

// carries follows an operation; whenever the driver looks at the clock something happens, until that is errEnough: then
// the agent is killed. No time passes unless what happens says so.
func (w *world) carries(follow follower, op api.UpgradeOperation, between func(look int) error) (api.UpgradeResult, error) {
	w.Helper()
	ctx, cancel := context.WithCancelCause(w.Context())
	defer cancel(nil)
	looks := 0
	stop := w.driver.o.Now
	w.driver.o.Now = func() time.Time {
		if looks++; ctx.Err() == nil {
			err := between(looks)
			if looks > 2000 {
				w.Error("there is no end of it")
				err = errEnough
			}
			if err != nil {
				cancel(err)
			}
		}
		return stop()
	}
	result, known, err := follow(ctx, op, func(r api.UpgradeResult) { w.told = append(w.told, r) })
	w.driver.o.Now = stop
	require.True(w, known)
	if err != nil {
		require.ErrorIs(w, context.Cause(ctx), errEnough)
	}
	return result, err
}

// act is what all controllers do between two looks.
func (w *world) act(int) error {
	w.topologyActs()
	for _, of := range []string{"", "small", "gpu"} {
		w.acts(of)
	}
	return nil
}
