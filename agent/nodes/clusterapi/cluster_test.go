package clusterapi

import (
	"cmp"
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
	"k8s.io/client-go/dynamic/fake"
	"sigs.k8s.io/yaml"

	"flotilla/agent/management"
	"flotilla/core/api"
)

const (
	plain = `{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {name: berlin, namespace: fleet}, spec: {}}`

	managed = `
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: berlin, namespace: fleet}
spec:
  topology:
    version: v1.36.3
    workers:
      machineDeployments:
      - {name: gpu, class: gpu, replicas: 1}
      - {name: small, class: default, replicas: %s, variables: {overrides: [{name: disk, value: 40}]}}
`

	small = `
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata:
  name: small
  namespace: fleet
  labels: {cluster.x-k8s.io/cluster-name: berlin, karpenter.sh/nodepool: workers, topology.cluster.x-k8s.io/deployment-name: small}
  annotations: {capacity.cluster-autoscaler.kubernetes.io/labels: "node.kubernetes.io/instance-type=d4, topology.kubernetes.io/zone=z-a"}
spec: {replicas: 2, template: {spec: {version: v1.36.3}}}
`
)

var launch = api.NodeLaunch{Name: "drift-7-0", Pool: "workers", InstanceTypes: []string{"d4", "d8"}}

// world is a management cluster whose controllers act when they are told to.
type world struct {
	*testing.T
	*Provider
	objects *fake.FakeDynamicClient
	member  *fake.FakeDynamicClient
	clock   time.Time
	made    int
}

func newWorld(t *testing.T, texts ...string) *world {
	t.Helper()
	var given []runtime.Object
	for _, text := range texts {
		given = append(given, object(t, text))
	}
	kinds := map[schema.GroupVersionResource]string{
		management.Clusters: "ClusterList", management.MachineDeployments: "MachineDeploymentList", management.Machines: "MachineList",
	}
	w := &world{
		T: t, objects: fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, given...), clock: time.Unix(1e9, 0),
		member: fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{nodes: "NodeList"}),
	}
	w.restart()
	return w
}

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	body, err := yaml.YAMLToJSON([]byte(text))
	require.NoError(t, err)
	require.NoError(t, o.UnmarshalJSON(body))
	return o
}

// restart is what an agent does that was killed.
func (w *world) restart() {
	view := management.New(management.Options{Objects: w.objects, Host: "https://management", Namespace: "fleet", Cluster: "berlin"})
	now := func() time.Time {
		w.clock = w.clock.Add(time.Minute) // every look is a new one
		return w.clock
	}
	w.Provider = New(Options{View: view, Member: w.member, Patience: time.Millisecond, Now: now})
}

// machine adds a machine of a MachineDeployment that has a node, and returns its name.
func (w *world) machine(deployment string) string {
	w.Helper()
	w.made++
	name := fmt.Sprintf("%s-%03d", deployment, w.made)
	o := object(w.T, fmt.Sprintf(`
apiVersion: cluster.x-k8s.io/v1beta2
kind: Machine
metadata:
  name: %s
  uid: u-%s
  namespace: fleet
  creationTimestamp: %q
  labels: {cluster.x-k8s.io/cluster-name: berlin, cluster.x-k8s.io/deployment-name: %s}
`, name, name, time.Unix(1e9+int64(w.made/2), 0).UTC().Format(time.RFC3339), deployment))
	_, err := w.objects.Resource(management.Machines).Namespace("fleet").Create(w.Context(), o, metav1.CreateOptions{})
	require.NoError(w, err)
	return name
}

// up gives a machine its provider id and its node.
func (w *world) up(name string) {
	w.Helper()
	w.change(management.Machines, name, fmt.Sprintf(`{"spec":{"providerID":"cloud://%s"},"status":{"nodeRef":{"name":"node-%s"}}}`, name, name))
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

// standing are the names of the machines that are there, sorted.
func (w *world) standing(deployment string) []string {
	w.Helper()
	var out []string
	for _, m := range w.seen().of(deployment) {
		out = append(out, m.Name)
	}
	slices.Sort(out)
	return out
}

func (w *world) seen() *survey {
	w.Helper()
	s, err := read(w.Context(), w.o.View)
	require.NoError(w, err)
	return s
}

// act is what the controllers of topologies, MachineDeployments and MachineSets do: those with the mark go first, then
// those without a node, then the newest.
func (w *world) act(deployment string) {
	w.Helper()
	s := w.seen()
	d := s.deployment(deployment)
	if n := s.wanted(d); n != d.Wanted() {
		w.change(management.MachineDeployments, deployment, fmt.Sprintf(`{"spec":{"replicas":%d}}`, n))
	}
	there := s.of(deployment)
	rank := func(m *management.Machine) int {
		if _, marked := m.Annotations[management.AnnotationDelete]; marked {
			return 0
		}
		if m.Status.NodeRef.Name == "" {
			return 1
		}
		return 2
	}
	slices.SortFunc(there, func(a, b *management.Machine) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(b.Name, a.Name))
	})
	for n := len(there); n < int(s.wanted(d)); n++ {
		w.machine(deployment)
	}
	for n := len(there) - int(s.wanted(d)); n > 0; n-- {
		require.NoError(w, w.objects.Resource(management.Machines).Namespace("fleet").Delete(w.Context(), there[0].Name, metav1.DeleteOptions{}))
		there = there[1:]
	}
}

// notes are those of an object, empty when there are none.
func (w *world) notes(kind schema.GroupVersionResource, name string) string {
	w.Helper()
	return w.read(kind, name).GetAnnotations()[annotationNotes]
}

// launches asks for a launch, which is not over yet, and returns what it waits for.
func (w *world) launches(l api.NodeLaunch) string {
	w.Helper()
	_, err := w.Launch(w.Context(), l)
	require.ErrorContains(w, err, "launch "+l.Name+" has no machine yet: ")
	return strings.TrimPrefix(err.Error(), "launch "+l.Name+" has no machine yet: ")
}

// answered asks for a launch that is over.
func (w *world) answered(l api.NodeLaunch) api.LaunchedNode {
	w.Helper()
	answer, err := w.Launch(w.Context(), l)
	require.NoError(w, err)
	return answer
}

// removes asks for a machine to go, and reports whether it is gone.
func (w *world) removes(m api.NodeMachine) bool {
	w.Helper()
	gone, err := w.Delete(w.Context(), m)
	require.NoError(w, err)
	return gone
}

func (w *world) replicas(of string) int64 {
	w.Helper()
	n, _, err := unstructured.NestedInt64(w.read(management.MachineDeployments, of).Object, "spec", "replicas")
	require.NoError(w, err)
	return n
}
