package front_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

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
