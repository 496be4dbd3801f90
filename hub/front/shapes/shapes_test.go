package shapes

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/kube-openapi/pkg/handler3"
	"k8s.io/kube-openapi/pkg/spec3"
)

// A document is made once, when it is asked for first; one that cannot be made hides no other.
func TestADocumentIsMadeOnce(t *testing.T) {
	t.Parallel()
	made := 0
	good := New("apis/good.example.com/v1", "1", func() *spec3.OpenAPI {
		made++
		return &spec3.OpenAPI{Version: "3.0.0"}
	})
	bad := New("apis/bad.example.com/v1", "1", func() *spec3.OpenAPI { panic("odd") })
	require.Zero(t, made)
	get := func(path string, status int) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		All{"apis/good.example.com/v1": good, "apis/bad.example.com/v1": bad}.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		require.Equal(t, status, w.Code, path)
		return w
	}
	for range 2 {
		var all handler3.OpenAPIV3Discovery
		require.NoError(t, json.Unmarshal(get("/openapi/v3", http.StatusOK).Body.Bytes(), &all))
		require.Len(t, all.Paths, 1)
		at := all.Paths["apis/good.example.com/v1"].ServerRelativeURL
		require.Contains(t, at, "/openapi/v3/apis/good.example.com/v1?hash=")
		require.JSONEq(t, `{"openapi":"3.0.0","info":null}`, get(at, http.StatusOK).Body.String())
		get("/openapi/v3/apis/none.example.com/v1", http.StatusNotFound)
	}
	require.Equal(t, 1, made)
}
