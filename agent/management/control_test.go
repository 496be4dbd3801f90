package management

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	fakediscovery "k8s.io/client-go/discovery/fake"
	"k8s.io/client-go/dynamic/fake"
	k8stesting "k8s.io/client-go/testing"
)

// viewOf is a management cluster that serves EKS's control planes, and has one of version v1.36.
func viewOf() *View {
	kind := schema.GroupVersionResource{Group: "controlplane.cluster.x-k8s.io", Version: "v1beta3", Resource: "awsmanagedcontrolplanes"}
	one := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": kind.GroupVersion().String(), "kind": "AWSManagedControlPlane",
		"metadata": map[string]any{"name": "berlin", "namespace": "fleet", "annotations": map[string]any{AnnotationPaused: ""}},
		"spec":     map[string]any{"version": "v1.36"}, "status": map[string]any{"version": "v1.36.3", "ready": true},
	}}
	served := &fakediscovery.FakeDiscovery{Fake: &k8stesting.Fake{Resources: []*metav1.APIResourceList{{
		GroupVersion: kind.GroupVersion().String(), APIResources: []metav1.APIResource{{Name: "awsmanagedcontrolplanes/status", Kind: "AWSManagedControlPlane"}, {Name: "awsmanagedcontrolplanes", Kind: "AWSManagedControlPlane"}},
	}}}}
	objects := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{kind: "AWSManagedControlPlaneList"}, one)
	return New(Options{Objects: objects, Kinds: served, Host: "https://management", Namespace: "fleet", Cluster: "berlin"})
}

// A control plane is read in the version that is served, of whatever kind it is; one that is not made of machines has no
// numbers that could be wrong.
func TestAControlPlaneOfAnyKind(t *testing.T) {
	of := &Cluster{Spec: ClusterSpec{ControlPlaneRef: Reference{APIGroup: "controlplane.cluster.x-k8s.io", Kind: "AWSManagedControlPlane", Name: "berlin"}}}
	c, err := viewOf().ControlPlane(t.Context(), of)
	require.NoError(t, err)
	require.Equal(t, "AWSManagedControlPlane berlin", c.String())
	require.Equal(t, "awsmanagedcontrolplanes.v1beta3.controlplane.cluster.x-k8s.io", c.Resource.Resource+"."+c.Resource.Version+"."+c.Resource.Group)
	require.Equal(t, "v1.36", c.Spec.Version)
	require.Equal(t, []string{"v1.36.3"}, c.Running())
	require.True(t, c.Settled())
	require.Equal(t, "AWSManagedControlPlane berlin is paused", c.Halted())

	none, err := viewOf().ControlPlane(t.Context(), &Cluster{})
	require.NoError(t, err)
	require.Nil(t, none)
}

// What is named and is not there is said.
func TestAControlPlaneThatIsNotThere(t *testing.T) {
	for says, ref := range map[string]Reference{
		"the management cluster at https://management serves nothing of example.com, of which Thing berlin is":           {APIGroup: "example.com", Kind: "Thing", Name: "berlin"},
		"the management cluster at https://management serves no Thing of controlplane.cluster.x-k8s.io/v1beta3":          {APIGroup: "controlplane.cluster.x-k8s.io", Kind: "Thing", Name: "berlin"},
		"found no AWSManagedControlPlane fleet/oslo at https://management, which the Cluster names as its control plane": {APIGroup: "controlplane.cluster.x-k8s.io", Kind: "AWSManagedControlPlane", Name: "oslo"},
	} {
		_, err := viewOf().ControlPlane(t.Context(), &Cluster{Spec: ClusterSpec{ControlPlaneRef: ref}})
		require.EqualError(t, err, says)
	}
}

// Numbers that are not said do not count, those of an older generation do not yet.
func TestSettled(t *testing.T) {
	for name, one := range map[string]struct {
		status  Status
		settled bool
	}{
		"nothing said":  {Status{}, true},
		"all there":     {Status{ObservedGeneration: 4, Replicas: new(int64(3)), UpToDateReplicas: new(int64(3)), ReadyReplicas: new(int64(3)), AvailableReplicas: new(int64(3))}, true},
		"not seen yet":  {Status{ObservedGeneration: 3, Replicas: new(int64(3))}, false},
		"one more":      {Status{Replicas: new(int64(4))}, false},
		"one old":       {Status{Replicas: new(int64(3)), UpToDateReplicas: new(int64(2))}, false},
		"one not ready": {Status{Replicas: new(int64(3)), ReadyReplicas: new(int64(2))}, false},
		"one not there": {Status{Replicas: new(int64(3)), AvailableReplicas: new(int64(0))}, false},
	} {
		require.Equal(t, one.settled, one.status.Settled(4, 3), name)
	}
}
