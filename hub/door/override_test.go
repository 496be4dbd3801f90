package door_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/hub/door"
	"flotilla/subjects"
)

// override is a ResourceOverride of the Secret key, or of another object, that puts a value into it.
func override(name, kind, value string) string {
	return fmt.Sprintf(`{apiVersion: placement.kubernetes-fleet.io/v1beta1, kind: ResourceOverride, metadata: {name: %s, namespace: shop}, spec: {
	  resourceSelectors: [{group: "", version: v1, kind: %s, name: key}], policy: {overrideRules: [{clusterSelector: {},
	  jsonPatchOverrides: [{op: add, path: /stringData/password, value: "%s"}]}]}}}`, name, kind, value)
}

// Overrides are applied, shown, patched and deleted as placements are, in either version, and say when they go out.
func TestOverridesAreObjects(t *testing.T) {
	h := open(t, door.Options{})
	first := h.apply(override("eu", "ConfigMap", "x"))[0]
	require.Equal(t, api.ActionCreated, first.Action)
	require.Contains(t, first.Notes[0], "with spec.placement it goes out at once")
	require.Equal(t, api.ActionUnchanged, h.apply(override("eu", "ConfigMap", "x"))[0].Action)
	require.EqualValues(t, 2, h.apply(override("eu", "ConfigMap", "y"))[0].Generation)
	shown := must[api.ResourceOverride](h, api.VerbGet, api.GetRequest{Kind: api.KindResourceOverride, Namespace: "shop", Name: "eu"})
	require.Equal(t, api.OverrideJSONPatch, shown.Spec.Policy.OverrideRules[0].OverrideType)
	require.JSONEq(t, `"y"`, string(shown.Spec.Policy.OverrideRules[0].JSONPatchOverrides[0].Value.Raw))
	require.Len(t, must[api.ListResponse](h, api.VerbList, api.ListRequest{Kind: api.KindResourceOverride}).Items, 1)
	require.Empty(t, must[api.ListResponse](h, api.VerbList, api.ListRequest{Kind: api.KindClusterResourceOverride}).Items)

	_, failure := ask[api.ApplyResponse](h, api.VerbApply, api.ApplyRequest{Documents: docs(t, strings.Replace(override("eu", "ConfigMap", "y"), "spec: {", "spec: {placement: {name: web},", 1))})
	require.Contains(t, failure.Error(), "spec.placement: found the ClusterResourcePlacement web, expected nothing: it cannot change")
	require.Equal(t, api.ActionDeleted, h.delete(api.KindResourceOverride, "shop", "eu").Action)
	h.gone(api.KindResourceOverride, "shop", "eu")

	h.apply(`{apiVersion: v1, kind: Namespace, metadata: {name: shop}}`, override("eu", "ConfigMap", "x"))
	h.delete("Namespace", "", "shop")
	h.gone(api.KindResourceOverride, "shop", "eu")
}

// An object that another override of the kind names is refused, with the name of that, in one request and over several; and
// so is one override too many.
func TestOverridesThatClash(t *testing.T) {
	h := open(t, door.Options{})
	refused := func(texts ...string) string {
		_, failure := ask[api.ApplyResponse](h, api.VerbApply, api.ApplyRequest{Documents: docs(t, texts...)})
		require.NotNil(t, failure)
		return failure.Error()
	}
	require.Contains(t, refused(override("eu", "ConfigMap", "x"), override("us", "ConfigMap", "x")), "ConfigMap/key, which ResourceOverride/shop/eu names already")
	h.apply(override("eu", "ConfigMap", "x"))
	require.Contains(t, refused(override("us", "ConfigMap", "x")), "ConfigMap/key, which ResourceOverride/shop/eu names already")
	h.apply(override("eu", "Service", "x"), override("us", "ConfigMap", "x"))
	var many []string
	for i := range api.MaxOverrides - 2 {
		many = append(many, strings.Replace(override(fmt.Sprint("o", i), "ConfigMap", "x"), "name: key}", fmt.Sprintf("name: key%d}", i), 1))
	}
	h.apply(many...)
	require.Contains(t, refused(strings.Replace(override("more", "ConfigMap", "x"), "name: key}", "name: more}", 1)), "101 ResourceOverrides in namespace shop, expected at most 100")
	h.apply(override("eu", "Service", "y"))
	h.apply(strings.ReplaceAll(override("more", "ConfigMap", "x"), "namespace: shop", "namespace: other"))
}

// What an override puts into a Secret is nowhere in state, and nobody is shown it who does not ask for it; what is shown can
// be applied again, and content that it refers to is not swept.
func TestWhatAnOverridePutsIntoSecretsIsSealed(t *testing.T) {
	h := open(t, door.Options{})
	h.apply(override("eu", "Secret", "hunter2"))
	table := store.TableOf[api.Spec](h.store.State, subjects.OverrideSpecs)
	raw, _, found := h.store.State.Raw(table.Key("shop/eu"))
	require.True(t, found)
	require.NotContains(t, string(raw), "hunter2")
	stored, _, _ := table.Get("shop/eu")
	whole, err := h.store.Content.Get(bustest.Context(t), stored.Digest)
	require.NoError(t, err)
	require.Contains(t, string(whole), "hunter2")

	get := api.GetRequest{Kind: api.KindResourceOverride, Namespace: "shop", Name: "eu"}
	shown := must[json.RawMessage](h, api.VerbGet, get)
	require.NotContains(t, string(shown), "hunter2")
	require.Contains(t, string(shown), `"digest:`)
	require.Equal(t, api.ActionUnchanged, must[api.ApplyResponse](h, api.VerbApply, api.ApplyRequest{Documents: []json.RawMessage{shown}}).Results[0].Action)
	get.ShowSecrets = true
	require.Contains(t, string(must[json.RawMessage](h, api.VerbGet, get)), "hunter2")
	require.EqualValues(t, 2, h.apply(override("eu", "Secret", "hunter3"))[0].Generation)
	again, _, _ := table.Get("shop/eu")
	require.NotEqual(t, stored.Digest, again.Digest)

	h.apply(strings.NewReplacer("ResourceOverride", "ClusterResourceOverride", ", namespace: shop", "", "resourceSelectors", "clusterResourceSelectors", "name: key", "name: shop").
		Replace(override("all", "Namespace", "hunter4")))
	raw, _, _ = h.store.State.Raw(table.Key("all"))
	require.NotContains(t, string(raw), "hunter4")
}
