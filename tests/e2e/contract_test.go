//go:build e2e

package e2e

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/yaml"

	"flotilla/agent/target"
	"flotilla/agent/target/contract"
	"flotilla/agent/target/kube"
	"flotilla/core/api"
	"flotilla/tests/e2e/lab"
)

// beside is a target beside a real cluster, which all cases of the contract share.
type beside struct {
	testing.TB
	cluster *lab.Cluster
	objects dynamic.Interface
	mapper  *restmapper.DeferredDiscoveryRESTMapper
	shared  target.Target
}

func newBeside(t testing.TB, c *lab.Cluster) *beside {
	t.Helper()
	objects, err := dynamic.NewForConfig(c.Config())
	require.NoError(t, err)
	return &beside{TB: t, cluster: c, objects: objects, mapper: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(c.Clients().Discovery()))}
}

// open returns a target that knows nothing yet.
func (b *beside) open() target.Target {
	b.Helper()
	made, err := kube.New(kube.Options{Config: quick(b.cluster)})
	require.NoError(b, err)
	b.Cleanup(made.Close)
	return made
}

// quick is who the tests are to a cluster, without a bound on requests.
func quick(c *lab.Cluster) *rest.Config {
	config := c.Config()
	config.QPS = -1
	return config
}

func (b *beside) Target() target.Target { return b.shared }

func (b *beside) Restart() target.Target { return b.open() }

func (b *beside) Namespace() string { return namespace(b.TB, b.cluster) }

func (b *beside) at(ref api.ObjectRef) dynamic.ResourceInterface {
	b.Helper()
	object := unstructured.Unstructured{}
	object.SetAPIVersion(ref.APIVersion)
	object.SetKind(ref.Kind)
	mapping, err := b.mapper.RESTMapping(object.GroupVersionKind().GroupKind(), object.GroupVersionKind().Version)
	require.NoError(b, err)
	if ref.Namespace == "" {
		return b.objects.Resource(mapping.Resource)
	}
	return b.objects.Resource(mapping.Resource).Namespace(ref.Namespace)
}

func (b *beside) Make(object *unstructured.Unstructured) {
	b.Helper()
	ref := api.ObjectRef{APIVersion: object.GetAPIVersion(), Kind: object.GetKind(), Namespace: object.GetNamespace(), Name: object.GetName()}
	_, err := b.at(ref).Create(b.Context(), object, metav1.CreateOptions{FieldManager: contract.Maker})
	require.NoError(b, err)
}

func (b *beside) Edit(ref api.ObjectRef, change func(*unstructured.Unstructured)) {
	b.Helper()
	require.NoError(b, retry.RetryOnConflict(retry.DefaultRetry, func() error {
		live, err := b.at(ref).Get(b.Context(), ref.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(live)
		_, err = b.at(ref).Update(b.Context(), live, metav1.UpdateOptions{FieldManager: contract.Editor})
		return err
	}))
}

func (b *beside) Remove(ref api.ObjectRef) {
	b.Helper()
	require.NoError(b, b.at(ref).Delete(b.Context(), ref.Name, metav1.DeleteOptions{}))
}

// TestContract holds a real cluster to what a member in memory is held to.
func TestContract(t *testing.T) {
	t.Parallel()
	c := clusterOf(t, "m2")
	owner := newBeside(t, c)
	owner.shared = owner.open()
	t.Cleanup(func() {
		owner.shared.(*kube.Target).Close() // which would write them again
		require.NoError(t, c.Clients().CoreV1().ConfigMaps(kube.SystemNamespace).DeleteCollection(context.Background(), metav1.DeleteOptions{}, metav1.ListOptions{}))
	})
	t.Run("objects", func(t *testing.T) {
		contract.Objects(t, true, func(t *testing.T) contract.Fixture {
			t.Helper()
			b := newBeside(t, c)
			b.shared = owner.shared
			return b
		})
	})
}

// parsed is an object of YAML.
func parsed(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	require.NoError(t, yaml.Unmarshal([]byte(text), &object.Object))
	return object
}
