package door_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/hub/door"
)

const (
	limits = `{apiVersion: placement.kubernetes-fleet.io/v1beta1, kind: ResourceEnvelope, metadata: {name: limits, namespace: shop}, data: {
	  quota: {apiVersion: v1, kind: ResourceQuota, metadata: {name: small, namespace: shop}}, key: {apiVersion: v1, kind: Secret, metadata: {name: key, namespace: shop}, stringData: {password: hunter2}}}}`
	texts = `{apiVersion: v1, kind: ConfigMap, metadata: {name: texts, namespace: shop, annotations: {kubernetes-fleet.io/envelope-configmap: "true"}}, data: {
	  role: "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: reader}}"}}`
)

// What lies in envelopes is in snapshots with a body of its own, which stays as long as anything refers to it.
func TestEnvelopesAreOpenedInSnapshots(t *testing.T) {
	h := open(t, door.Options{})
	results := h.apply(shopNamespace, limits, texts, web)
	require.Equal(t, []string{"an envelope: in its place members get what is in it, Secret/shop/key, ResourceQuota/shop/small"}, results[1].Notes)
	snapshot := h.snapshots("web")[0]
	var placed []string
	for _, m := range snapshot.Manifests {
		placed = append(placed, m.String()+" "+m.Envelope)
		_, err := h.store.Content.Get(bustest.Context(t), m.Digest)
		require.NoError(t, err)
	}
	require.Equal(t, []string{"Namespace/shop ", "ResourceQuota/shop/small ResourceEnvelope/shop/limits", "Secret/shop/key ResourceEnvelope/shop/limits", "ClusterRole/reader ConfigMap/shop/texts"}, placed)

	require.Equal(t, api.ActionUnchanged, h.apply(limits)[0].Action)
	h.apply(strings.Replace(limits, "key: {", "renamed: {", 1))
	require.Equal(t, []int64{1}, h.indexes("web"), "what lies in it is the same")
	h.apply(strings.Replace(texts, `"true"`, `"false"`, 1))
	last := h.snapshots("web")[1]
	require.Equal(t, "ConfigMap/shop/texts", last.Manifests[3].String(), "an envelope no more")
	require.Empty(t, last.Manifests[3].Envelope)
}

// What is wrong with what lies in an envelope refuses the whole request, with the path, and tells no value.
func TestWhatMayNotLieInAnEnvelopeIsRefused(t *testing.T) {
	h := open(t, door.Options{})
	failure := h.refuse(shopNamespace, strings.Replace(limits, "{name: key, namespace: shop}", "{name: key, namespace: blog}", 1),
		strings.Replace(texts, `"{apiVersion`, `"hunter2: [{apiVersion`, 1))
	require.Equal(t, []string{
		`ResourceEnvelope/shop/limits: data.key.metadata.namespace: found "blog", expected shop, the namespace of the envelope`,
		`ConfigMap/shop/texts: data.role: found a text that is no YAML, at line 1 of it, expected one object: a map with apiVersion, kind and metadata`,
	}, lines(failure.Faults))
	require.NotContains(t, failure.Error(), "hunter2")
	h.missing("Namespace", "", "shop")
}

// An envelope is shown with digests in the place of values of Secrets, and what is shown can be applied again.
func TestWhatIsShownOfAnEnvelopeCanBeApplied(t *testing.T) {
	h := open(t, door.Options{})
	h.apply(shopNamespace, limits, web)
	shown := string(must[json.RawMessage](h, api.VerbGet, api.GetRequest{Kind: api.KindResourceEnvelope, Namespace: "shop", Name: "limits"}))
	require.NotContains(t, shown, "hunter2")
	request := api.ApplyRequest{Request: h.id(), Documents: []json.RawMessage{json.RawMessage(shown)}}
	require.Equal(t, api.ActionUnchanged, must[api.ApplyResponse](h, api.VerbApply, request).Results[0].Action)
	patch := api.PatchRequest{Object: api.ObjectRef{APIVersion: "placement.kubernetes-fleet.io/v1beta1", Kind: api.KindResourceEnvelope, Namespace: "shop", Name: "limits"}}
	patch.Patch = json.RawMessage(`{"data":{"quota":null}}`)
	must[api.ApplyResult](h, api.VerbPatch, patch)
	require.Len(t, h.snapshots("web")[1].Manifests, 2)
}
