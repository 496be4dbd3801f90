package door_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/hub/door"
	"flotilla/subjects"
)

const kept = `managedFields: [{manager: m, operation: Apply}], ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: o, uid: u}],
  annotations: {kubectl.kubernetes.io/last-applied-configuration: "{}"}`

// keeping is a document with more in its metadata.
func keeping(text, more string) string {
	return strings.Replace(text, "metadata: {", "metadata: {"+more+", ", 1)
}

// managed applies documents as clients that keep something on objects do.
func (h *house) managed(texts ...string) []api.ApplyResult {
	h.t.Helper()
	results, failure := h.on(api.ApplyRequest{Managed: true, Exact: true}, texts...)
	require.Nil(h.t, failure)
	return results
}

// metadata is what is shown of the object of a result, with what clients keep.
func (h *house) metadata(of *api.ApplyResult) map[string]any {
	h.t.Helper()
	o := of.Object
	get := api.GetRequest{APIVersion: o.APIVersion, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name, Managed: true}
	one := must[api.GetResponse](h, api.VerbGet, get)
	listed := must[api.ListResponse](h, api.VerbList, api.ListRequest{APIVersion: o.APIVersion, Kind: o.Kind, Managed: true})
	require.Equal(h.t, []json.RawMessage{one.Object}, listed.Items, "a list shows the same")
	require.Equal(h.t, []string{one.Spec}, listed.Specs)
	var shown map[string]any
	require.NoError(h.t, json.Unmarshal(one.Object, &shown))
	return shown["metadata"].(map[string]any)
}

func TestWhatClientsKeepIsShownToThem(t *testing.T) {
	for name, c := range map[string]struct{ text, plain string }{
		"content":     {keeping(settings, kept), settings},
		"a member":    {keeping(berlin, kept), berlin},
		"a placement": {keeping(web, kept), web},
	} {
		t.Run(name, func(t *testing.T) {
			h := open(t, door.Options{})
			made := h.managed(c.text)[0]
			require.NotContains(t, strings.Join(made.Notes, "\n"), "ignored")
			shown := h.metadata(&made)
			require.Equal(t, []any{map[string]any{"manager": "m", "operation": "Apply"}}, shown["managedFields"])
			require.Equal(t, "u", shown["ownerReferences"].([]any)[0].(map[string]any)["uid"])
			annotations := maps.Clone(shown["annotations"].(map[string]any))
			delete(annotations, api.AnnotationOnMembers) // which content has
			require.Equal(t, map[string]any{"kubectl.kubernetes.io/last-applied-configuration": "{}"}, annotations)
			bare := h.get(made.Object.Kind, made.Object.Namespace, made.Object.Name)["metadata"].(map[string]any)
			for _, field := range []string{"managedFields", "ownerReferences"} {
				require.NotContains(t, bare, field, "who does not ask sees nothing of it")
			}
			require.NotContains(t, fmt.Sprint(bare["annotations"]), "kubectl")

			again := h.apply(c.plain)[0]
			require.Equal(t, api.ActionUnchanged, again.Action, "a file says nothing of it")
			require.Equal(t, shown, h.metadata(&made))

			changed := h.managed(strings.Replace(c.text, "manager: m", "manager: n", 1))[0]
			require.Equal(t, api.ActionConfigured, changed.Action)
			require.Equal(t, made.Generation, changed.Generation)
			require.NotEqual(t, made.ResourceVersion, changed.ResourceVersion)
			require.Equal(t, api.ActionUnchanged, h.managed(strings.Replace(c.text, "manager: m", "manager: n", 1))[0].Action)

			require.Equal(t, api.ActionConfigured, h.managed(c.plain)[0].Action)
			require.NotContains(t, h.metadata(&made), "managedFields", "what is left out is gone")
		})
	}
}

func TestMembersGetNothingOfWhatClientsKeep(t *testing.T) {
	h := open(t, door.Options{})
	h.apply(shopNamespace, settings, web)
	before := h.snapshots("web")[0]
	h.managed(keeping(settings, kept+", finalizers: [x/y]"))
	require.Equal(t, []int64{1}, h.indexes("web"), "the snapshot is as it was")
	h.managed(keeping(strings.Replace(settings, `"1"`, `"2"`, 1), kept))
	h.managed(keeping(settings, kept))
	newest := h.snapshots("web")[2]
	require.Equal(t, before.Manifests, newest.Manifests, "and what is placed has the digest that it has without")
}

func TestWhatKubectlRemembersOfASecretIsHidden(t *testing.T) {
	h := peopled(t)
	text := `{apiVersion: v1, kind: Secret, metadata: {name: key, namespace: shop, annotations: {kubectl.kubernetes.io/last-applied-configuration: "hunter2"}}, stringData: {a: hunter2}}`
	made := h.managed(text)[0]
	shown := h.metadata(&made)["annotations"].(map[string]any)["kubectl.kubernetes.io/last-applied-configuration"].(string)
	require.Regexp(t, "^digest:[0-9a-f]{16}$", shown)
	get := api.GetRequest{Kind: "Secret", Namespace: "shop", Name: "key", Managed: true}
	whole := must[api.GetResponse](h, api.VerbGet, get).Object
	require.NotContains(t, string(whole), "hunter2")
	for _, key := range h.store.State.Keys(subjects.ObjectSpecs.Prefix()) {
		record, _, _ := h.store.State.Raw(key)
		require.NotContains(t, string(record), "hunter2", "it is no part of the record")
	}

	again := must[api.ApplyResponse](h, api.VerbApply, api.ApplyRequest{Request: h.id(), Managed: true, Exact: true, Documents: []json.RawMessage{whole}})
	require.Equal(t, api.ActionUnchanged, again.Results[0].Action, "what is shown can be applied again")
	get.ShowSecrets = true
	require.Equal(t, 2, strings.Count(string(must[json.RawMessage](h, api.VerbGet, get)), "hunter2"))
}

func TestFinalizersHoldUpADeletion(t *testing.T) {
	for name, text := range map[string]string{
		"content":     settings,
		"an override": `{apiVersion: placement.kubernetes-fleet.io/v1, kind: ClusterResourceOverride, metadata: {name: o}, spec: {clusterResourceSelectors: [{group: "", version: v1, kind: Namespace, name: shop}], policy: {overrideRules: [{overrideType: Delete}]}}}`,
		"a member":    berlin,
		"a placement": web,
	} {
		t.Run(name, func(t *testing.T) {
			h := open(t, door.Options{})
			both, one := keeping(text, "finalizers: [x/a, x/b]"), keeping(text, "finalizers: [x/b]")
			ref := h.managed(both)[0].Object
			going := h.delete(ref.Kind, ref.Namespace, ref.Name)
			require.Equal(t, api.ActionDeleting, going.Action)
			require.Contains(t, going.Notes, "it stays until its finalizers are taken away: x/a, x/b")
			shown := h.metadata(&going)
			require.NotEmpty(t, shown["deletionTimestamp"])
			require.Equal(t, []any{"x/a", "x/b"}, shown["finalizers"])
			require.Contains(t, h.delete(ref.Kind, ref.Namespace, ref.Name).Notes[0], "deletion was asked for before, at ")

			relabelled := keeping(strings.Replace(both, "labels: {env: prod}", "", 1), "labels: {a: b}")
			for _, refused := range []string{keeping(text, "finalizers: [x/a, x/b, x/c]"), relabelled} {
				_, failure := h.on(api.ApplyRequest{Managed: true, Exact: true}, refused)
				require.NotNil(t, failure)
				require.Equal(t, api.CodeConflict, failure.Code)
				require.Contains(t, failure.Error(), "it goes once nothing but its finalizers is taken away: x/a, x/b")
			}
			require.Equal(t, api.CodeConflict, h.refuse(text).Code, "a file takes none away")
			require.Equal(t, api.ActionUnchanged, h.managed(both)[0].Action)

			left := h.managed(one)[0]
			require.Equal(t, api.ActionConfigured, left.Action)
			require.Equal(t, []any{"x/b"}, h.metadata(&left)["finalizers"])
			_, failure := ask[api.ApplyResult](h, api.VerbPatch, api.PatchRequest{
				Request: h.id(), Object: ref, Managed: true, Patch: json.RawMessage(`{"metadata":{"finalizers":null}}`),
			})
			require.Nil(t, failure)
			h.gone(ref.Kind, ref.Namespace, ref.Name)
		})
	}
}

func TestTheLastFinalizerOfContentTakesItAlong(t *testing.T) {
	h := closed(t)
	stop := h.run(door.Options{})
	h.managed(keeping(settings, "finalizers: [x/a]"))
	h.delete("ConfigMap", "shop", "settings")
	request := api.ApplyRequest{Request: h.id(), Managed: true, Exact: true, Documents: docs(t, settings)}
	first := must[api.ApplyResponse](h, api.VerbApply, request)
	require.Equal(t, []string{"ConfigMap/shop/settings deleted"}, actions(first.Results))
	h.missing("ConfigMap", "shop", "settings")
	stop()
	require.NoError(t, h.store.State.Relist(bustest.Context(t)))
	h.run(door.Options{})
	require.Equal(t, first, must[api.ApplyResponse](h, api.VerbApply, request), "a repeat makes nothing anew")
	h.missing("ConfigMap", "shop", "settings")
}

func TestMembersConfirmAfterTheLastFinalizer(t *testing.T) {
	h := open(t, door.Options{})
	uid := h.managed(shopNamespace, keeping(web, "finalizers: [x/a]"))[1].UID
	h.release("web", uid, 1, "berlin")
	h.delete(api.KindClusterResourcePlacement, "", "web")
	require.Equal(t, api.ActionConfigured, h.managed(web)[0].Action)
	h.get(api.KindClusterResourcePlacement, "", "web")
	h.release("web", uid, 1)
	h.gone(api.KindClusterResourcePlacement, "", "web")
}

func TestContentThatIsBeingDeletedIsPlacedNoMore(t *testing.T) {
	h := open(t, door.Options{})
	h.apply(shopNamespace, web)
	h.managed(keeping(settings, "finalizers: [x/a]"))
	require.Len(t, h.snapshots("web")[1].Manifests, 2)
	h.delete("Namespace", "", "shop")
	require.Empty(t, h.snapshots("web")[2].Manifests)
	require.NotEmpty(t, h.get("ConfigMap", "shop", "settings")["metadata"].(map[string]any)["deletionTimestamp"], "it went with its namespace")
	h.managed(settings)
	require.Equal(t, []int64{1, 2, 3}, h.indexes("web"))
}

func TestAPatchOfWhatClientsKeepIsNoOverlay(t *testing.T) {
	h := open(t, door.Options{})
	made := h.managed(keeping(settings, "finalizers: [x/a]"))[0]
	_, failure := ask[api.ApplyResult](h, api.VerbPatch, api.PatchRequest{
		Request: h.id(), Object: made.Object, Managed: true, Patch: json.RawMessage(`{"metadata":{"finalizers":["x/b"],"labels":{"c":"d"}}}`),
	})
	require.Nil(t, failure)
	require.Equal(t, []any{"x/b"}, h.metadata(&made)["finalizers"])
	require.Equal(t, []string{"kept, because the document does not set it: metadata.labels.c"}, h.apply(settings)[0].Notes)
	require.Equal(t, []any{"x/b"}, h.metadata(&made)["finalizers"])
}
