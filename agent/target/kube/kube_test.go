package kube

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/rest"
)

// A cluster is not ready while its API server says so, and may come back as another version.
func TestAClusterIsReadyWhenItSaysSo(t *testing.T) {
	var away, upgraded atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/readyz" && away.Load():
			refuse(w, apierrors.NewServiceUnavailable("etcd failed"))
		case r.URL.Path == "/readyz":
			answer(w, http.StatusOK, "ok")
		case r.URL.Path == "/version" && upgraded.Load():
			answer(w, http.StatusOK, version.Info{GitVersion: "v1.37.0"})
		case r.URL.Path == "/version":
			answer(w, http.StatusOK, version.Info{GitVersion: "v1.36.3"})
		default:
			refuse(w, apierrors.NewNotFound(schema.GroupResource{}, ""))
		}
	}))
	made, err := New(Options{Config: &rest.Config{Host: server.URL}})
	require.NoError(t, err)
	t.Cleanup(func() { made.Close(); server.Close() })
	says := func(wanted string) {
		t.Helper()
		found, err := made.Version(t.Context())
		require.NoError(t, err)
		require.Equal(t, wanted, found)
	}
	require.NoError(t, made.Ready(t.Context()))
	says("v1.36.3")
	upgraded.Store(true)
	says("v1.36.3") // it is not asked for again while nothing happens
	away.Store(true)
	require.ErrorContains(t, made.Ready(t.Context()), "the API server is not ready")
	away.Store(false)
	says("v1.37.0")
}
