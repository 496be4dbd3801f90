//go:build e2e

package e2e

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"flotilla/agent/target/contract"
	"flotilla/agent/target/kube"
	"flotilla/tests/e2e/lab"
)

// nodesOfCluster is a real cluster for a case about nodes.
type nodesOfCluster struct {
	*testing.T
	cluster *lab.Cluster
	target  *kube.Target
	objects dynamic.Interface
}

func (f *nodesOfCluster) Target() contract.NodeTarget { return f.target }
func (f *nodesOfCluster) Namespace() string           { return namespace(f.T, f.cluster) }

func (f *nodesOfCluster) AddNode(name string) {
	ctx, cancel := context.WithTimeout(f.Context(), patience)
	defer cancel()
	require.NoError(f, f.cluster.AddNode(ctx, lab.Node(name)))
	nodes := f.cluster.Clients().CoreV1().Nodes()
	f.Cleanup(func() {
		_, _ = nodes.Patch(context.Background(), name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		_ = nodes.Delete(context.Background(), name, metav1.DeleteOptions{})
	})
	alone := []byte(`{"spec":{"taints":[{"key":"` + harnessTaint.Key + `","value":"contract","effect":"NoSchedule"}]}}`)
	_, err := nodes.Patch(ctx, name, types.MergePatchType, alone, metav1.PatchOptions{})
	require.NoError(f, err)
}

// at is where an object is.
func (f *nodesOfCluster) at(object *unstructured.Unstructured) dynamic.ResourceInterface {
	kind := object.GroupVersionKind()
	resource := schema.GroupVersionResource{Group: kind.Group, Version: kind.Version, Resource: strings.ToLower(kind.Kind) + "s"}
	return f.objects.Resource(resource).Namespace(object.GetNamespace())
}

func (f *nodesOfCluster) Plant(object *unstructured.Unstructured) {
	eventually(f.T, func(ctx context.Context) error { // until the namespace has its service account
		_, err := f.at(object).Create(ctx, object, metav1.CreateOptions{})
		return err
	})
}

func (f *nodesOfCluster) Uproot(object *unstructured.Unstructured) {
	require.NoError(f, f.at(object).Delete(f.Context(), object.GetName(), metav1.DeleteOptions{}))
}

// TestNodesOfAClusterHoldTheContract runs the cases that members in memory pass, too.
func TestNodesOfAClusterHoldTheContract(t *testing.T) {
	t.Parallel()
	c := clusterOf(t, "m2")
	config := c.Config()
	made, err := kube.New(kube.Options{Config: config})
	require.NoError(t, err)
	t.Cleanup(made.Close)
	objects, err := dynamic.NewForConfig(config)
	require.NoError(t, err)
	contract.Nodes(t, func(t *testing.T) contract.NodeFixture {
		return &nodesOfCluster{T: t, cluster: c, target: made, objects: objects}
	})
}
