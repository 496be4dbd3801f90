package kube

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"flotilla/core/api"
)

const widgets = "widgets.example.org"

// discovered is an API server that serves Widgets in v1 once they are defined, and answers nothing while it is away.
type discovered struct{ away, defined atomic.Bool }

func (d *discovered) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	group := schema.GroupResource{Group: "example.org", Resource: "widgets"}
	switch {
	case d.away.Load():
		refuse(w, apierrors.NewServiceUnavailable("the server is starting"))
	case r.URL.Path == "/apis/example.org/v1":
		list := metav1.APIResourceList{GroupVersion: "example.org/v1"}
		if d.defined.Load() {
			list.APIResources = []metav1.APIResource{{Name: "widgets", Kind: "Widget", Namespaced: true}, {Name: "widgets/status", Kind: "Widget", Namespaced: true}}
		}
		answer(w, http.StatusOK, list)
	case r.URL.Path == "/apis/example.org":
		answer(w, http.StatusOK, metav1.APIGroup{Name: "example.org", Versions: []metav1.GroupVersionForDiscovery{{GroupVersion: "example.org/v1", Version: "v1"}}})
	default:
		refuse(w, apierrors.NewNotFound(group, "w"))
	}
}

func discovering(t *testing.T) (*discovered, *Target) {
	t.Helper()
	d := &discovered{}
	server := httptest.NewServer(d)
	made, err := New(Options{Config: &rest.Config{Host: server.URL}})
	require.NoError(t, err)
	t.Cleanup(func() { made.Close(); server.Close() })
	return d, made
}

func widget(version string) api.ObjectRef {
	return api.ObjectRef{APIVersion: "example.org/" + version, Kind: "Widget", Namespace: "shop", Name: "w"}
}

// A kind that cannot be asked for is an error, never one that is not served: objects of it would count as gone, and be
// written anew or forgotten.
func TestAKindThatCannotBeAskedForIsNotGone(t *testing.T) {
	d, made := discovering(t)
	d.defined.Store(true)
	d.away.Store(true)
	_, err := made.kinds.of(widget("v1"))
	require.ErrorContains(t, err, "asking for the kinds of example.org/v1")
	require.False(t, meta.IsNoMatchError(err))
	_, err = made.Get(t.Context(), widget("v1"))
	require.False(t, apierrors.IsNotFound(err), "%v", err)
	_, err = made.kinds.inAnyVersion(t.Context(), widget("v1"))
	require.False(t, err == nil || meta.IsNoMatchError(err), "%v", err)
	d.away.Store(false)
	found, err := made.kinds.of(widget("v1"))
	require.NoError(t, err)
	require.Equal(t, widgets, found.GroupResource().String())
	require.True(t, found.namespaced)
}

// A kind that is defined later is found when it is named again; one of which the version is served no more in another.
func TestAKindIsFoundOnceItIsServed(t *testing.T) {
	d, made := discovering(t)
	_, err := made.kinds.of(widget("v1"))
	require.True(t, meta.IsNoMatchError(err), "%v", err)
	_, err = made.Get(t.Context(), widget("v1"))
	require.True(t, apierrors.IsNotFound(err), "%v", err)
	d.defined.Store(true)
	_, err = made.kinds.of(widget("v1"))
	require.NoError(t, err)
	_, err = made.kinds.of(widget("v1beta1"))
	require.True(t, meta.IsNoMatchError(err), "%v", err)
	found, err := made.kinds.inAnyVersion(t.Context(), widget("v1beta1"))
	require.NoError(t, err)
	require.Equal(t, "v1", found.Version)
}
