package kube

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"flotilla/bus/bustest"
	"flotilla/core/api"
)

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// gate is an API server with ConfigMaps that may refuse to list and to watch them.
type gate struct {
	*fake.FakeDynamicClient

	mu      sync.Mutex
	refuses error
	open    *watch.FakeWatcher
}

func newGate(t *testing.T, objects ...runtime.Object) *gate {
	t.Helper()
	kinds := map[schema.GroupVersionResource]string{configMaps: "ConfigMapList"}
	g := &gate{FakeDynamicClient: fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, objects...)}
	g.PrependReactor("list", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		g.mu.Lock()
		defer g.mu.Unlock()
		return g.refuses != nil, nil, g.refuses
	})
	g.PrependWatchReactor("configmaps", func(clienttesting.Action) (bool, watch.Interface, error) {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.refuses != nil {
			return true, nil, g.refuses
		}
		g.open = watch.NewFake()
		return true, g.open, nil
	})
	return g
}

// refuse refuses everything from now on, nothing with nil. What is watched ends.
func (g *gate) refuse(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.refuses = err; err != nil && g.open != nil {
		g.open.Stop()
	}
}

// configMap is one that is placed, or not.
func configMap(name, value, owner string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"a": value}}}
	object.SetNamespace("shop")
	object.SetName(name)
	if owner != "" {
		object.SetLabels(map[string]string{labelPlaced: "true"})
		object.SetAnnotations(map[string]string{api.AnnotationOwner: owner})
	}
	return object
}

// view watches what is placed of ConfigMaps. What was watched counts as old at once when it is watched no more.
func view(t *testing.T, g *gate) (*views, *list) {
	t.Helper()
	v := newViews(g, listsOf(t, time.Millisecond))
	return v, v.open(configMaps)
}

// Only what is placed is in a view, and its owner is told of it.
func TestAViewIsOfWhatIsPlaced(t *testing.T) {
	t.Parallel()
	g := newGate(t, configMap("web", "1", "web/u1"), configMap("theirs", "1", ""))
	v, l := view(t, g)
	told := v.lists.changes.watch(t.Context())
	require.Same(t, l, v.open(configMaps), "it is opened once")
	require.NotNil(t, l.find(t.Context(), "shop", "web"))
	require.Nil(t, l.find(t.Context(), "shop", "theirs"))
	require.Nil(t, l.find(t.Context(), "shop", "none"))
	require.False(t, v.blind())
	g.open.Modify(configMap("web", "2", "shop/u2"))
	for change := range told {
		if len(change.Owners) == 2 {
			require.Equal(t, []string{"web/u1", "shop/u2"}, change.Owners, "it went from one to the other")
			break
		}
	}
	require.Equal(t, "2", field(l.find(t.Context(), "shop", "web")))
}

func field(object *unstructured.Unstructured) string {
	if object == nil {
		return "none"
	}
	value, _, _ := unstructured.NestedString(object.Object, "data", "a")
	return value
}

// What a view saw counts no more when its watch is refused after it had worked: it is read from the API server again, and
// owners are woken now and then.
func TestAViewThatIsRefusedKnowsNothing(t *testing.T) {
	t.Parallel()
	g := newGate(t, configMap("web", "1", "web/u1"))
	v, l := view(t, g)
	require.Equal(t, "1", field(l.find(t.Context(), "shop", "web")))
	g.refuse(errors.New("nobody may"))
	bustest.Eventually(t, func() error {
		if found := field(l.find(t.Context(), "shop", "web")); found != "none" || !v.blind() {
			return fmt.Errorf("found %s, blind: %t", found, v.blind())
		}
		return nil
	})
	_, err := g.Resource(configMaps).Namespace("shop").Update(t.Context(), configMap("web", "2", "web/u1"), metav1.UpdateOptions{})
	require.NoError(t, err)
	g.refuse(nil)
	bustest.Eventually(t, func() error {
		if found := field(l.find(t.Context(), "shop", "web")); found != "2" || v.blind() {
			return fmt.Errorf("found %s, blind: %t", found, v.blind())
		}
		return nil
	})
}

// One that was never given is not waited for: it says so at once.
func TestAViewThatIsRefusedFromTheStart(t *testing.T) {
	t.Parallel()
	g := newGate(t, configMap("web", "1", "web/u1"))
	g.refuse(errors.New("nobody may"))
	v, l := view(t, g)
	waited := time.NewTimer(patience / 2)
	require.Nil(t, l.find(t.Context(), "shop", "web"))
	require.True(t, waited.Stop())
	require.True(t, v.blind())
}
