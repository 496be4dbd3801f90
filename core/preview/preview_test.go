package preview_test

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"flotilla/core/api"
	"flotilla/core/preview"
	"flotilla/core/seal"
)

var content = []string{
	`{apiVersion: v1, kind: Namespace, metadata: {name: shop}}`,
	`{apiVersion: v1, kind: Secret, metadata: {name: key, namespace: shop}, stringData: {password: hunter2}}`,
	`{apiVersion: v1, kind: ConfigMap, metadata: {name: hours, namespace: shop}, data: {open: "9"}}`,
	`{apiVersion: v1, kind: ConfigMap, metadata: {name: spare, namespace: shop}, data: {open: "9"}}`,
	`{apiVersion: placement.kubernetes-fleet.io/v1, kind: ResourceEnvelope, metadata: {name: wrap, namespace: shop}, data: {
	  quota.yaml: {apiVersion: v1, kind: ResourceQuota, metadata: {name: quota, namespace: shop}, spec: {hard: {cpu: "4"}}}}}`,
	`{apiVersion: placement.kubernetes-fleet.io/v1, kind: ResourceOverride, metadata: {name: eu, namespace: shop}, spec: {
	  resourceSelectors: [{group: "", version: v1, kind: ConfigMap, name: hours}, {group: "", version: v1, kind: Secret, name: key}], policy: {overrideRules: [
	  {clusterSelector: {clusterSelectorTerms: [{labelSelector: {matchLabels: {region: eu}}}]}, jsonPatchOverrides: [{op: add, path: /metadata/labels, value: {at: "${MEMBER-CLUSTER-NAME}"}}]},
	  {clusterSelector: {clusterSelectorTerms: [{labelSelector: {matchLabels: {region: us}}}]}, jsonPatchOverrides: [{op: replace, path: /data/closed, value: "hunter3"}]}]}}}`,
	`{apiVersion: placement.kubernetes-fleet.io/v1, kind: ResourceOverride, metadata: {name: none, namespace: shop}, spec: {
	  resourceSelectors: [{group: "", version: v1, kind: ConfigMap, name: spare}], policy: {overrideRules: [{clusterSelector: {}, overrideType: Delete}]}}}`,
}

var shop = &api.Placement{Spec: api.PlacementSpec{ResourceSelectors: []api.ResourceSelector{{Version: "v1", Kind: "Namespace", Name: "shop"}}}}

func files(t *testing.T) *preview.Files {
	t.Helper()
	var documents []json.RawMessage
	for _, text := range content {
		document, err := yaml.YAMLToJSON([]byte(text))
		require.NoError(t, err)
		documents = append(documents, document)
	}
	f, faults := preview.ReadFiles(documents, &seal.Keyring{})
	require.Empty(t, faults)
	return f
}

func show(t *testing.T, region string) map[string]preview.Object {
	t.Helper()
	shown, err := files(t).Show(shop, &api.Member{Name: "oslo", Labels: map[string]string{"region": region}})
	require.NoError(t, err)
	objects := map[string]preview.Object{}
	for _, o := range shown.Objects {
		objects[o.Object.Kind+"/"+o.Object.Name] = o
	}
	require.Len(t, objects, 5, "envelopes are opened")
	return objects
}

// What overrides make of objects is counted one after another, and whoever counts ends the preview.
func TestWhatIsGivenIsCounted(t *testing.T) {
	in, err := files(t).Input(shop, &api.Member{Name: "oslo", Labels: map[string]string{"region": "eu"}})
	require.NoError(t, err)
	var counted []int
	in.Given = func(bytes int) error {
		counted = append(counted, bytes)
		return nil
	}
	_, err = preview.Show(in)
	require.NoError(t, err)
	require.Len(t, counted, 5)
	changed := slices.DeleteFunc(slices.Clone(counted), func(bytes int) bool { return bytes == 0 })
	require.Len(t, changed, 2, "a ConfigMap and a Secret get a label: %v", counted)
	require.Greater(t, slices.Min(changed), len(`{"metadata":{"labels":{"at":"oslo"}}}`))

	enough := errors.New("enough")
	counted = nil
	in.Given = func(bytes int) error {
		counted = append(counted, bytes)
		return enough
	}
	_, err = preview.Show(in)
	require.ErrorIs(t, err, enough)
	require.Len(t, counted, 1)
}

// What is selected and what is given stand side by side, with who changed what; what is left out is listed.
func TestWhatAMemberIsGiven(t *testing.T) {
	objects := show(t, "eu")
	hours := objects["ConfigMap/hours"]
	require.Equal(t, map[string]any{"at": "oslo"}, hours.Given["metadata"].(map[string]any)["labels"])
	require.Nil(t, hours.Selected["metadata"].(map[string]any)["labels"])
	require.Equal(t, "ResourceOverride/shop/eu", hours.Deeds[0].Override)
	require.Equal(t, "spec.policy.overrideRules[0].jsonPatchOverrides[0]", hours.Deeds[0].Path)
	require.Equal(t, "add /metadata/labels", hours.Deeds[0].What)

	spare := objects["ConfigMap/spare"]
	require.True(t, spare.LeftOut)
	require.Nil(t, spare.Given)
	require.Equal(t, "leaves it out", spare.Deeds[0].What)

	quota := objects["ResourceQuota/quota"]
	require.Equal(t, "ResourceEnvelope/shop/wrap", quota.Envelope)
	require.Equal(t, quota.Selected, quota.Given)
}

// A patch that fails names the member, the override and the path; what else is there is shown all the same.
func TestWhatFailsOnAMember(t *testing.T) {
	objects := show(t, "us")
	require.Equal(t, &preview.Failure{
		Member: "oslo", Override: "ResourceOverride/shop/eu", Path: "spec.policy.overrideRules[1].jsonPatchOverrides[0]",
		Reason: `replace /data/closed: there is no "closed" in /data`,
	}, objects["ConfigMap/hours"].Failure)
	require.Nil(t, objects["ConfigMap/hours"].Given)
	require.NotNil(t, objects["Namespace/shop"].Given)
	report := preview.Report{Placements: []preview.Placement{{Objects: []preview.Object{objects["ConfigMap/hours"]}}}}
	require.Equal(t, []string{`oslo: ResourceOverride/shop/eu: ConfigMap/shop/hours: spec.policy.overrideRules[1].jsonPatchOverrides[0]: replace /data/closed: there is no "closed" in /data`}, report.Failed())
}

// Values of Secrets are in nothing that is shown, neither those that were applied nor those that an override puts there.
func TestSecretsAreNotShown(t *testing.T) {
	for _, region := range []string{"eu", "us", "asia"} {
		text, err := json.Marshal(show(t, region))
		require.NoError(t, err)
		require.NotContains(t, string(text), "hunter")
		require.Contains(t, string(text), "digest:")
	}
}
