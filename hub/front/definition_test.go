package front_test

import (
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"flotilla/core/api"
)

var widgets = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}

// widgetDefinition defines widgets with a size, 3 where none is given.
func widgetDefinition() *unstructured.Unstructured {
	size := map[string]any{"type": "integer", "default": int64(3)}
	return tree("apiextensions.k8s.io/v1", "CustomResourceDefinition", "widgets.example.com", map[string]any{
		"group": "example.com", "scope": "Namespaced", "names": map[string]any{"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
		"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": map[string]any{
			"type": "object", "properties": map[string]any{"spec": map[string]any{"type": "object", "properties": map[string]any{"size": size}}},
		}}}},
	})
}

func widget(spec map[string]any) *unstructured.Unstructured {
	u := tree("example.com/v1", "Widget", "w", spec)
	u.SetNamespace("shop")
	return u
}

// A definition that Kubernetes would refuse, or that says little, harms nobody who asks for anything else.
func TestOddDefinitionsHarmNobody(t *testing.T) {
	t.Parallel()
	whole := map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "properties": map[string]any{"spec": map[string]any{"type": "object"}}}}
	for name, c := range map[string]struct {
		version map[string]any
		names   map[string]any
		served  bool
	}{
		"without properties":     {version: map[string]any{"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}, served: true},
		"without a schema":       {version: map[string]any{}, served: true},
		"no name of a version":   {version: map[string]any{"name": "", "schema": whole}},
		"a path as a version":    {version: map[string]any{"name": "v1/../v2", "schema": whole}},
		"no kind":                {version: map[string]any{"schema": whole}, names: map[string]any{"kind": ""}},
		"a path as a kind":       {version: map[string]any{"schema": whole}, names: map[string]any{"kind": "A/b"}},
		"a path as a short name": {version: map[string]any{"schema": whole}, names: map[string]any{"shortNames": []any{"a/b"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := startFleet(t)
			version := map[string]any{"name": "v1", "served": true, "storage": true}
			maps.Copy(version, c.version)
			names := map[string]any{"plural": "odds", "kind": "Odd"}
			maps.Copy(names, c.names)
			f.admin().create(definitions, tree("apiextensions.k8s.io/v1", "CustomResourceDefinition", "odds.example.com", map[string]any{
				"group": "example.com", "scope": "Cluster", "names": names, "versions": []any{version},
			}))
			eve := f.as(f.hub, "eve", api.RoleViewer)
			for _, path := range []string{"/apis", "/api/v1", "/openapi/v3", "/openapi/v3/api/v1", "/openapi/v3/apis/example.com/v1", "/apis/example.com/v1/odds", "/api/v1/namespaces"} {
				status := f.status(eve, path)
				if strings.Contains(path, "example.com") && !c.served {
					require.Equal(t, http.StatusNotFound, status, path)
				} else {
					require.Equal(t, http.StatusOK, status, path)
				}
			}
		})
	}
}

// status is what a hub answers to a request for a path.
func (f *fleet) status(config *rest.Config, path string) int {
	f.t.Helper()
	transport, err := rest.TransportFor(config)
	require.NoError(f.t, err)
	request, err := http.NewRequestWithContext(f.t.Context(), http.MethodGet, config.Host+path, nil)
	require.NoError(f.t, err)
	request.Header.Set("Accept", "application/json")
	answer, err := (&http.Client{Transport: transport}).Do(request)
	require.NoError(f.t, err, path)
	require.NoError(f.t, answer.Body.Close())
	return answer.StatusCode
}

// A definition that is applied serves its objects at once, a change of it changes them, and one that is gone ends who watches.
func TestADefinitionServesItsObjects(t *testing.T) {
	t.Parallel()
	c := startFleet(t).admin()
	ctx := t.Context()
	of := c.Resource(widgets).Namespace("shop")
	_, err := of.List(ctx, metav1.ListOptions{})
	require.True(t, apierrors.IsNotFound(err), "%v", err)
	made := c.create(definitions, widgetDefinition())

	created, err := of.Create(ctx, widget(map[string]any{"colour": "red"}), metav1.CreateOptions{})
	require.NoError(t, err)
	require.Equal(t, map[string]any{"size": int64(3)}, created.Object["spec"], "what it has not is dropped, and what is left out filled in")
	_, err = of.Create(ctx, widget(map[string]any{"colour": "red"}), metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
	require.ErrorContains(t, err, `unknown field "spec.colour"`)

	w, err := of.Watch(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	defer w.Stop()
	require.Equal(t, "ADDED w", told(next(t, w)))
	versions, _, err := unstructured.NestedSlice(made.Object, "spec", "versions")
	require.NoError(t, err)
	require.NoError(t, unstructured.SetNestedField(versions[0].(map[string]any), "integer", "schema", "openAPIV3Schema", "properties", "spec", "properties", "parts", "type"))
	require.NoError(t, unstructured.SetNestedSlice(made.Object, versions, "spec", "versions"))
	_, err = c.Resource(definitions).Update(ctx, made, metav1.UpdateOptions{})
	require.NoError(t, err)
	created.Object["spec"] = map[string]any{"parts": int64(2)}
	changed, err := of.Update(ctx, created, metav1.UpdateOptions{FieldValidation: metav1.FieldValidationStrict})
	require.NoError(t, err)
	require.Equal(t, map[string]any{"parts": int64(2), "size": int64(3)}, changed.Object["spec"])
	for range w.ResultChan() {
		// until it ends, as the kind that was watched is no more
	}

	require.NoError(t, c.Resource(definitions).Delete(ctx, made.GetName(), metav1.DeleteOptions{}))
	_, err = of.List(ctx, metav1.ListOptions{})
	require.True(t, apierrors.IsNotFound(err), "%v", err)
}

// No definition takes the place of what is built in.
func TestADefinitionOfWhatIsBuiltIn(t *testing.T) {
	t.Parallel()
	c := startFleet(t).admin()
	c.create(definitions, tree("apiextensions.k8s.io/v1", "CustomResourceDefinition", "clusterresourceplacements."+api.GroupPlacement, map[string]any{
		"group": api.GroupPlacement, "scope": "Namespaced", "names": map[string]any{"plural": "clusterresourceplacements", "kind": "ClusterResourcePlacement"},
		"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true}},
	}))
	_, err := c.Resource(placements).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	c.create(placements, tree(api.PlacementVersion, api.KindClusterResourcePlacement, "web", map[string]any{
		"resourceSelectors": []any{map[string]any{"group": "", "version": "v1", "kind": "Namespace", "name": "shop"}},
	}))
}

// What a definition fills into each of many items is bounded: an object of some kilobytes would be as large as somebody likes.
func TestDefaultsThatGrow(t *testing.T) {
	t.Parallel()
	numbers := make([]any, 1000)
	for i := range numbers {
		numbers[i] = int64(1)
	}
	field := func(kind string, value any) map[string]any { return map[string]any{"type": kind, "default": value} }
	array := field("array", numbers)
	array["items"] = map[string]any{"type": "integer"}
	outer := field("object", map[string]any{})
	outer["properties"] = map[string]any{"inner": array}
	nullable := maps.Clone(array)
	nullable["nullable"] = true
	for name, of := range map[string]map[string]any{"a list": array, "where null may be": nullable, "a text": field("string", strings.Repeat("x", 32<<10)), "a list within what is filled in": outer} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := startFleet(t)
			c := f.admin()
			d := widgetDefinition()
			require.NoError(t, unstructured.SetNestedSlice(d.Object, []any{map[string]any{"name": "v1", "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": map[string]any{
				"type": "object", "properties": map[string]any{"spec": map[string]any{"type": "object", "properties": map[string]any{"list": map[string]any{
					"type": "array", "items": map[string]any{"type": "object", "properties": map[string]any{"big": of}},
				}}}},
			}}}}, "spec", "versions"))
			c.create(definitions, d)
			for n, fits := range map[int]bool{10: true, 200: false} {
				items := make([]any, n)
				for i := range items {
					items[i] = map[string]any{}
				}
				_, err := c.Resource(widgets).Namespace("shop").Create(t.Context(), widget(map[string]any{"list": items}), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
				require.Equal(t, fits, err == nil, "%d: %v", n, err)
				if !fits {
					require.True(t, apierrors.IsBadRequest(err), err)
					require.ErrorContains(t, err, "found defaults of more than 100000 values")
				}
			}
		})
	}
}

// Server-side apply changes objects of a kind whose definition says nothing of a status, which the hub tells all the same.
func TestApplyWithoutAStatus(t *testing.T) {
	t.Parallel()
	f := startFleet(t)
	c := f.admin()
	c.create(definitions, widgetDefinition())
	to := c.Resource(widgets).Namespace("shop")
	made := c.create(widgets, widget(map[string]any{"size": int64(1)}))
	require.Contains(t, made.Object, "status")
	for size := range int64(2) {
		applied, err := to.Apply(t.Context(), "w", widget(map[string]any{"size": size}), metav1.ApplyOptions{FieldManager: "test", Force: true})
		require.NoError(t, err)
		require.Equal(t, size, applied.Object["spec"].(map[string]any)["size"])
	}
}
