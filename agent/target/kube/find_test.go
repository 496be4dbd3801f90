package kube

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"flotilla/core/api"
)

// crowd is an API server with ConfigMaps of one namespace, which counts what it is asked of them.
type crowd struct {
	mu    sync.Mutex
	names []string
	// most is how many names one answer lists.
	most int
	// refuses says that nobody may list them.
	refuses bool
	asked   []string
}

func (c *crowd) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	const all = "/api/v1/namespaces/shop/configmaps"
	w.Header().Set("Content-Type", "application/json")
	switch {
	case r.URL.Path == "/api/v1":
		_, _ = fmt.Fprint(w, `{"kind": "APIResourceList", "groupVersion": "v1", "resources": [{"name": "configmaps", "kind": "ConfigMap", "namespaced": true}]}`)
	case r.URL.Path == all && c.refuses:
		c.asked = append(c.asked, "list")
		http.Error(w, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403}`, http.StatusForbidden)
	case r.URL.Path == all:
		c.asked = append(c.asked, "list")
		c.list(w, r.URL.Query().Get("continue"))
	case strings.HasPrefix(r.URL.Path, all):
		c.asked = append(c.asked, "get")
		if name := r.URL.Path[len(all)+1:]; slices.Contains(c.names, name) {
			_, _ = fmt.Fprintf(w, `{"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": %q, "namespace": "shop"}}`, name)
			return
		}
		http.Error(w, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}`, http.StatusNotFound)
	default:
		http.NotFound(w, r)
	}
}

// list answers the page that begins with a name.
func (c *crowd) list(w http.ResponseWriter, from string) {
	at := max(0, slices.Index(c.names, from))
	end, next := min(at+c.most, len(c.names)), ""
	if end < len(c.names) {
		next = c.names[end]
	}
	var items []string
	for _, name := range c.names[at:end] {
		items = append(items, fmt.Sprintf(`{"metadata": {"name": %q, "namespace": "shop"}}`, name))
	}
	_, _ = fmt.Fprintf(w, `{"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": {"resourceVersion": "1", "continue": %q}, "items": [%s]}`,
		next, strings.Join(items, ","))
}

// What is not there is not asked for one by one, unless that takes less.
func TestManyObjectsAreLookedForAtOnce(t *testing.T) {
	var hundred []string
	for n := range 100 {
		hundred = append(hundred, fmt.Sprintf("c%02d", n))
	}
	for name, c := range map[string]struct {
		*crowd
		found, lists, gets int
	}{
		"none is there":                    {crowd: &crowd{most: 50}, lists: 1},
		"some are":                         {crowd: &crowd{names: hundred[:3], most: 50}, found: 3, lists: 1, gets: 3},
		"on two pages":                     {crowd: &crowd{names: hundred[:80], most: 50}, found: 80, lists: 2, gets: 80},
		"in a crowd of others":             {crowd: &crowd{names: append([]string{"a", "b", "c"}, hundred[0]), most: 50}, found: 1, lists: 1, gets: 1},
		"on too many pages":                {crowd: &crowd{names: hundred, most: 2}, found: 100, lists: 25, gets: 100},
		"where they must not all be known": {crowd: &crowd{names: hundred[:3], refuses: true}, found: 3, lists: 1, gets: 100},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(c)
			t.Cleanup(server.Close)
			made, err := New(Options{Config: &rest.Config{Host: server.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}})
			require.NoError(t, err)
			t.Cleanup(made.Close)
			var refs []api.ObjectRef
			for _, name := range hundred {
				refs = append(refs, api.ObjectRef{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: name})
			}
			found, err := made.Find(t.Context(), refs)
			require.NoError(t, err)
			require.Len(t, found, c.found)
			c.mu.Lock()
			defer c.mu.Unlock()
			require.Equal(t, slices.Concat(slices.Repeat([]string{"list"}, c.lists), slices.Repeat([]string{"get"}, c.gets)), c.asked)
		})
	}
}
