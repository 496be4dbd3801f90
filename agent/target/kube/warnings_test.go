package kube

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
)

// What an API server warns of with each answer is told once.
func TestAWarningIsToldOnce(t *testing.T) {
	const deprecated = "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Warning", `299 - "`+deprecated+`"`)
		w.Header().Add("Warning", `110 - "Response is Stale"`)
		guarded(w, r)
	}))
	var mu sync.Mutex
	var told []string
	made, err := New(Options{Config: &rest.Config{Host: server.URL}, Warned: func(text string) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, text)
	}})
	require.NoError(t, err)
	t.Cleanup(func() { made.Close(); server.Close() })
	for range 3 {
		_, err = made.Get(t.Context(), refTo("Secret"))
		require.Error(t, err)
	}
	mu.Lock()
	defer mu.Unlock()
	require.Equal(t, []string{deprecated}, told)
}

// Warnings that never end take no more and no more room.
func TestWarningsAreBounded(t *testing.T) {
	told := 0
	w := newWarnings(func(string) { told++ })
	for i := range 10 * mostWarnings {
		w.HandleWarningHeaderWithContext(t.Context(), warningCode, "", fmt.Sprint(i))
		require.LessOrEqual(t, len(w.known), mostWarnings)
	}
	require.Equal(t, 10*mostWarnings, told)
	newWarnings(nil).HandleWarningHeaderWithContext(t.Context(), warningCode, "", "nobody listens")
}
