package preview_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"flotilla/core/api"
	"flotilla/core/preview"
	"flotilla/core/schedule"
	"flotilla/core/seal"
)

// Faults say in which document they are, and of which object where that is known; the other documents are read.
func TestFaultsOfFilesAreNumbered(t *testing.T) {
	var documents []json.RawMessage
	for _, text := range []string{
		content[0],
		`{apiVersion: placement.kubernetes-fleet.io/v1, kind: ResourceOverride, metadata: {name: eu}, spec: {}}`,
		`{apiVersion: v1, kind: ConfigMap, metadata: {namespace: shop}}`,
		content[6],
		`{apiVersion: placement.kubernetes-fleet.io/v1, kind: ResourceOverride, metadata: {name: twice, namespace: shop}, spec: {
		  resourceSelectors: [{group: "", version: v1, kind: ConfigMap, name: spare}], policy: {overrideRules: [{clusterSelector: {}, overrideType: Delete}]}}}`,
	} {
		document, err := yaml.YAMLToJSON([]byte(text))
		require.NoError(t, err)
		documents = append(documents, document)
	}
	files, faults := preview.ReadFiles(documents, &seal.Keyring{})
	numbers := map[int]bool{}
	for _, f := range faults[:len(faults)-1] {
		numbers[f.Document] = true
	}
	require.Equal(t, map[int]bool{2: true, 3: true}, numbers)
	require.Equal(t, "ResourceOverride/eu", faults[0].Object)
	require.Contains(t, faults[len(faults)-1].String(), "names already", "two overrides of one object")

	shown, err := files.Show(shop, &api.Member{Name: "oslo"})
	require.NoError(t, err)
	require.Len(t, shown.Objects, 1)
	require.Empty(t, shown.NotPicked)
	_, err = files.Show(&api.Placement{Spec: api.PlacementSpec{ResourceSelectors: []api.ResourceSelector{{Version: "v1", Kind: "Namespace", Name: "other"}}}}, &api.Member{Name: "oslo"})
	require.NoError(t, err, "what selects nothing is no fault")
}

// A placement that does not go to a member says why.
func TestWhyAPlacementDoesNotGoToAMember(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	member := func(name string, taints ...api.Taint) api.Member {
		return api.Member{Name: name, HasAgent: true, Joined: "True", Healthy: "True", LastHeartbeat: now, Taints: taints}
	}
	in := schedule.Input{
		Fleet: schedule.NewFleet(member("oslo"), member("rome", api.Taint{Key: "full", Effect: api.EffectNoSchedule})), Now: now,
	}
	require.Empty(t, preview.NotPicked(in, "oslo"))
	require.Contains(t, preview.NotPicked(in, "rome"), "taint full:NoSchedule cannot be tolerated")
	require.Equal(t, "it is no member of the fleet", preview.NotPicked(in, "bern"))
}
