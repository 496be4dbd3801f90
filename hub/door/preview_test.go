package door_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/preview"
	"flotilla/hub/door"
)

// What a member is given is what was cut with the overrides that are stored; documents are shown as they would be. Nobody is shown
// values of Secrets, of objects or of overrides.
func TestPreviewShowsWhatAMemberIsGiven(t *testing.T) {
	h := open(t, door.Options{})
	h.apply(`{apiVersion: cluster.kubernetes-fleet.io/v1, kind: MemberCluster, metadata: {name: oslo, labels: {region: eu}}}`,
		`{apiVersion: v1, kind: Namespace, metadata: {name: shop}}`, key,
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: hours, namespace: shop}, data: {open: "9"}}`,
		`{apiVersion: placement.kubernetes-fleet.io/v1, kind: ClusterResourcePlacement, metadata: {name: shop}, spec: {
		  resourceSelectors: [{group: "", version: v1, kind: Namespace, name: shop}], policy: {placementType: PickFixed, clusterNames: [oslo]}}}`,
		override("eu", "Secret", "hunter3"))
	placement := &api.ObjectRef{Kind: api.KindClusterResourcePlacement, Name: "shop"}
	stored := must[json.RawMessage](h, api.VerbPreview, api.PreviewRequest{Member: "oslo", Placement: placement})
	require.NotContains(t, string(stored), "hunter")
	var report preview.Report
	require.NoError(t, json.Unmarshal(stored, &report))
	require.Len(t, report.Placements, 1)
	require.EqualValues(t, 1, report.Placements[0].Snapshot)
	secret := objectOf(t, &report, "key")
	require.Equal(t, "add /stringData/password", secret.Deeds[0].What)
	require.NotEqual(t, secret.Selected["stringData"].(map[string]any)["password"], secret.Given["stringData"].(map[string]any)["password"])
	require.Equal(t, secret.Selected["stringData"].(map[string]any)["user"], secret.Given["stringData"].(map[string]any)["user"])

	later := must[json.RawMessage](h, api.VerbPreview, api.PreviewRequest{Member: "oslo", Placement: placement, Documents: docs(t, override("eu", "Secret", "hunter4"),
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: hours, namespace: shop}, data: {open: "8"}}`)})
	require.NotContains(t, string(later), "hunter")
	var then preview.Report
	require.NoError(t, json.Unmarshal(later, &then))
	require.Zero(t, then.Placements[0].Snapshot, "it is still to be cut")
	require.Equal(t, "8", objectOf(t, &then, "hours").Given["data"].(map[string]any)["open"])
	require.NotEqual(t, secret.Given, objectOf(t, &then, "key").Given)

	_, failure := ask[preview.Report](h, api.VerbPreview, api.PreviewRequest{Member: "osloo", Placement: placement})
	require.Equal(t, `no member "osloo", did you mean oslo?`, failure.Message)
	placement.Name = "nothing"
	_, failure = ask[preview.Report](h, api.VerbPreview, api.PreviewRequest{Member: "oslo", Placement: placement})
	require.Equal(t, api.CodeNotFound, failure.Code)
	require.True(t, strings.HasPrefix(failure.Message, "ClusterResourcePlacement/nothing"))
}

func objectOf(t *testing.T, report *preview.Report, name string) *preview.Object {
	t.Helper()
	for i := range report.Placements[0].Objects {
		if o := &report.Placements[0].Objects[i]; o.Object.Name == name {
			return o
		}
	}
	t.Fatalf("no object %s", name)
	return nil
}
