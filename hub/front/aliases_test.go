package front_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
)

// standing is YAML of less than 64 KiB that stands for 300 MiB, behind the fields of an object.
func standing(object string) string {
	return object + "\na: &a " + strings.Repeat("x", 40<<10) + "\nb: &b [" + strings.Repeat("*a,", 100) + "]\nc: [" + strings.Repeat("*b,", 80) + "]\n"
}

// No YAML is read whose parts stand for others, whoever sends it, whatever for, and however they call it.
func TestNoAliasIsFollowed(t *testing.T) {
	t.Parallel()
	f := startFleet(t)
	f.admin().create(configMaps, settings("a", map[string]any{"x": "1"}))
	viewer, operator := f.as(f.hub, "vera", api.RoleViewer), f.as(f.hub, "olga", api.RoleOperator)
	const maps, config = "/api/v1/namespaces/shop/configmaps", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: shop}"
	const reviews = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
	access := standing("apiVersion: authorization.k8s.io/v1\nkind: SelfSubjectAccessReview\nspec: {resourceAttributes: {verb: get, resource: configmaps}}")
	for _, c := range []struct{ method, path, media, body string }{
		{http.MethodPost, maps, "application/yaml", config + "\ndata: {a: &a " + strings.Repeat("x", 1<<20) + strings.Repeat(", b: *a", 600) + "}"},
		{http.MethodPut, maps + "/a", "application/yaml", standing(config)},
		{http.MethodPatch, maps + "/a?fieldManager=m", "application/apply-patch+yaml", standing(config)},
		{http.MethodPatch, maps + "/a?fieldManager=m", "Application/Apply-Patch+YAML", standing(config)},
		{http.MethodPut, "/apis/apps/v1/namespaces/shop/deployments/web/scale", "application/yaml", standing("apiVersion: autoscaling/v1\nkind: Scale\nmetadata: {name: web}")},
		{http.MethodDelete, maps + "/a", "application/yaml", standing("apiVersion: v1\nkind: DeleteOptions")},
		{http.MethodDelete, maps, "application/yaml", standing("apiVersion: v1\nkind: DeleteOptions")},
		{http.MethodPost, reviews, "application/yaml", access},
		{http.MethodPost, reviews, "application/json", access},
		{http.MethodPost, reviews, "application/vnd.kubernetes.protobuf", access},
		{http.MethodPost, "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", "", standing("apiVersion: authorization.k8s.io/v1\nkind: SelfSubjectRulesReview\nspec: {namespace: shop}")},
		{http.MethodPost, "/apis/authentication.k8s.io/v1/selfsubjectreviews", "application/yaml", standing("apiVersion: authentication.k8s.io/v1\nkind: SelfSubjectReview")},
	} {
		who := operator
		if strings.HasSuffix(c.path, "reviews") {
			who = viewer
		}
		code, answer := f.send(who, c.method, c.path, c.media, c.body)
		require.Equal(t, http.StatusBadRequest, code, "%s %s %s: %.300s", c.method, c.path, c.media, answer)
		require.Contains(t, answer, `"kind":"Status"`)
		require.Contains(t, answer, "and its alias, *a, in YAML, expected none")
	}
	kept, err := f.admin().maps().Get(t.Context(), "a", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, map[string]any{"x": "1"}, kept.Object["data"])

	// YAML without them is read as before, and a review of more than 64 KiB is not read.
	code, answer := f.post(operator, maps, "application/yaml", strings.Replace(config, "name: a", "name: b", 1)+"\ndata: {motd: \"a & b * c\"}")
	require.Equal(t, http.StatusCreated, code, answer)
	review := "apiVersion: authorization.k8s.io/v1\nkind: SelfSubjectAccessReview\nspec: {resourceAttributes: {verb: get, resource: configmaps}}\n"
	code, answer = f.post(viewer, reviews, "application/yaml", review)
	require.Equal(t, http.StatusCreated, code, answer)
	require.Contains(t, answer, `"allowed":true`)
	code, answer = f.post(viewer, reviews, "application/yaml", review+strings.Repeat("#", 64<<10))
	require.Equal(t, http.StatusRequestEntityTooLarge, code, answer)
	require.Contains(t, answer, "found more than 65536 bytes")
}
