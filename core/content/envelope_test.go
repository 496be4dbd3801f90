package content_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/content"
	"flotilla/core/strict"
)

// enveloped is content of which some lies in envelopes.
var enveloped = []string{
	`{apiVersion: v1, kind: Namespace, metadata: {name: shop}}`,
	`{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: shop}}`,
	`{apiVersion: placement.kubernetes-fleet.io/v1beta1, kind: ResourceEnvelope, metadata: {name: limits, namespace: shop, labels: {team: web}}, data: {
	  quota.yaml: {apiVersion: v1, kind: ResourceQuota, metadata: {name: small, namespace: shop, uid: u}, spec: {hard: {pods: "3"}}, status: {used: {pods: "1"}}},
	  key: {apiVersion: v1, kind: Secret, metadata: {name: key, namespace: shop}, stringData: {a: b}}}}`,
	`{apiVersion: v1, kind: ConfigMap, metadata: {name: hooks, namespace: shop, annotations: {kubernetes-fleet.io/envelope-configmap: "true"}}, data: {
	  hook.yaml: "apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingWebhookConfiguration\nmetadata: {name: guard}\n",
	  role.json: '{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "reader", "namespace": "shop"}}'}}`,
	`{apiVersion: placement.kubernetes-fleet.io/v1beta1, kind: ClusterResourceEnvelope, metadata: {name: classes}, data: {
	  a: {apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}}, b: {apiVersion: example.com/v1, kind: Realm, metadata: {name: r}}}}`,
}

// In the place of an envelope stands what lies in it, stripped and in its own place in the order.
func TestEnvelopesAreOpened(t *testing.T) {
	for name, c := range map[string]struct {
		namespace, selectors string
		want                 []string
	}{
		"with their namespace": {
			"", `[{group: "", version: v1, kind: Namespace, name: shop}]`,
			[]string{"Namespace/shop", "ResourceQuota/shop/small", "Secret/shop/key", "ConfigMap/shop/settings", "Role/shop/reader", "MutatingWebhookConfiguration/guard"},
		},
		"by kind": {
			"", `[{group: placement.kubernetes-fleet.io, version: v1beta1, kind: ClusterResourceEnvelope, name: classes}]`,
			[]string{"PriorityClass/high", "Realm/r"},
		},
		"by a ResourcePlacement, by label": {
			"shop", `[{group: placement.kubernetes-fleet.io, version: v1beta1, kind: ResourceEnvelope, labelSelector: {matchLabels: {team: web}}}]`,
			[]string{"ResourceQuota/shop/small", "Secret/shop/key"},
		},
		"in a namespace, by kind": {
			"", `[{group: "", version: v1, kind: Namespace, name: shop, selectionScope: NamespaceWithResourceSelectors},
			      {group: placement.kubernetes-fleet.io, version: v1beta1, kind: ResourceEnvelope}]`,
			[]string{"Namespace/shop", "ResourceQuota/shop/small", "Secret/shop/key"},
		},
		"what lies in one is not there by itself": {
			"shop", `[{group: "", version: v1, kind: ResourceQuota}]`, []string{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := content.Select(selectors(t, c.selectors), c.namespace, indexOf(t, enveloped...))
			require.NoError(t, err)
			require.Equal(t, c.want, names(found))
		})
	}
}

func TestWhatLiesInEnvelopesIsKnownByWhatItIs(t *testing.T) {
	made, err := content.New(object(t, enveloped[2]), keys)
	require.NoError(t, err)
	require.Len(t, made.Wrapped, 2)
	quota := `{"apiVersion":"v1","kind":"ResourceQuota","metadata":{"name":"small","namespace":"shop"},"spec":{"hard":{"pods":"3"}}}`
	require.Equal(t, quota, string(made.Wrapped[1]), "by key, and stripped")
	held := made.Head.Wrapped[1]
	require.Equal(t, keys.Digest([]byte(quota)), held.Digest)
	require.Equal(t, "ResourceEnvelope/shop/limits", held.Envelope)
	require.Equal(t, len(quota), held.Size)
	index := indexOf(t, enveloped...)
	for _, selector := range []string{`{group: "", version: v1, kind: Namespace, name: shop}`, `{group: placement.kubernetes-fleet.io, version: v1, kind: ClusterResourceEnvelope}`} {
		found, err := content.Select(selectors(t, "["+selector+"]"), "", index)
		require.NoError(t, err)
		for i := range found {
			require.Positive(t, index.SizeOf(&found[i]), found[i].String())
		}
	}
	require.Zero(t, index.SizeOf(&held.Manifest)-held.Size)
	held.Envelope = "ConfigMap/shop/gone"
	require.Zero(t, index.SizeOf(&held.Manifest))
}

// What is in an envelope and elsewhere, lies outside of the namespace that a ResourcePlacement places, or would be a
// namespace that the hub reserves, stops the placement with its place.
func TestEnvelopesThatCannotBeOpenedThere(t *testing.T) {
	whole := `[{group: "", version: v1, kind: Namespace, name: shop}]`
	for name, c := range map[string]struct {
		more, namespace, selectors string
		want                       []string
	}{
		"beside itself": {
			`{apiVersion: v1, kind: ResourceQuota, metadata: {name: small, namespace: shop}}`, "", whole,
			[]string{`spec.resourceSelectors[0]: found ResourceQuota/shop/small, which ResourceEnvelope/shop/limits holds too, expected each object selected once`},
		},
		"in two envelopes": {
			`{apiVersion: placement.kubernetes-fleet.io/v1, kind: ResourceEnvelope, metadata: {name: again, namespace: shop}, data: {x: {apiVersion: v1, kind: Secret, metadata: {name: key, namespace: shop}}}}`, "", whole,
			[]string{`spec.resourceSelectors[0]: found Secret/shop/key, which ResourceEnvelope/shop/again holds too, expected each object selected once`},
		},
		"one envelope by two selectors": {
			"", "", `[{group: placement.kubernetes-fleet.io, version: v1, kind: ClusterResourceEnvelope, name: classes}, {group: placement.kubernetes-fleet.io, version: v1, kind: ClusterResourceEnvelope}]`,
			[]string{`spec.resourceSelectors[1]: found PriorityClass/high and 1 more, which spec.resourceSelectors[0] selects too, expected each object selected once`},
		},
		"outside of its namespace": {
			"", "shop", `[{group: "", version: v1, kind: ConfigMap}]`,
			[]string{`spec.resourceSelectors[0]: found MutatingWebhookConfiguration/guard in ConfigMap/shop/hooks, which lies outside namespaces, expected objects in namespace shop; a ClusterResourcePlacement places the others`},
		},
		"a reserved namespace": {
			`{apiVersion: placement.kubernetes-fleet.io/v1, kind: ClusterResourceEnvelope, metadata: {name: spaces}, data: {x: {apiVersion: v1, kind: Namespace, metadata: {name: kube-system}}}}`,
			"", `[{group: placement.kubernetes-fleet.io, version: v1, kind: ClusterResourceEnvelope, name: spaces}]`,
			[]string{`spec.resourceSelectors[0]: found the reserved namespace kube-system in ClusterResourceEnvelope/spaces, ` + notReserved},
		},
	} {
		t.Run(name, func(t *testing.T) {
			documents := enveloped
			if c.more != "" {
				documents = append(slices.Clip(documents), c.more)
			}
			_, err := content.Select(selectors(t, c.selectors), c.namespace, indexOf(t, documents...))
			var faults strict.Faults
			require.ErrorAs(t, err, &faults)
			var lines []string
			for i := range faults {
				lines = append(lines, faults[i].String())
			}
			require.Equal(t, c.want, lines)
		})
	}
}

// Of an envelope that is gone nothing is known, not even an empty one.
func TestTheEnvelopeThatAnObjectLiesInIsFoundWhileItIsThere(t *testing.T) {
	x := indexOf(t, enveloped...)
	found, err := content.Select(selectors(t, `[{group: "", version: v1, kind: ResourceQuota}, {group: placement.kubernetes-fleet.io, version: v1beta1, kind: ResourceEnvelope, name: limits}]`), "shop", x)
	require.NoError(t, err)
	require.Equal(t, []string{"ResourceQuota/shop/small", "Secret/shop/key"}, names(found))
	for i := range found {
		head, there := x.EnvelopeOf(&found[i])
		require.True(t, there)
		require.Equal(t, "ResourceEnvelope/shop/limits", head.Object.String())
		require.Positive(t, x.SizeOf(&found[i]))
	}
	head, _ := x.EnvelopeOf(&found[0])
	x.RemoveKey(content.Key(head.Object))
	head, there := x.EnvelopeOf(&found[0])
	require.False(t, there)
	require.Empty(t, head.Object)
	require.Zero(t, x.SizeOf(&found[0]))
}
