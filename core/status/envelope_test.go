package status

import (
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
)

// An object that lies in an envelope on the hub is looked for there: wherever it is told of, its envelope is.
func TestObjectsAreToldOfWithTheirEnvelopes(t *testing.T) {
	w := newWorld()
	w.snapshot(t, []string{"1"})
	held := api.Manifest{ObjectRef: api.ObjectRef{APIVersion: "v1", Kind: "ResourceQuota", Namespace: "shop", Name: "small"}, Envelope: "ResourceEnvelope/shop/limits"}
	plain := api.Manifest{ObjectRef: api.ObjectRef{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "plain"}}
	w.in.Latest.Manifests = []api.Manifest{held, plain}
	e := newEvaluation(w.in)
	want := api.EnvelopeIdentifier{Name: "limits", Namespace: "shop", Type: api.KindResourceEnvelope}
	failing := &api.PlacementResult{Applied: "False", Failures: []api.ManifestFailure{{ObjectRef: held.ObjectRef}, {ObjectRef: plain.ObjectRef}}}
	failures := e.failures(&view{result: failing})
	require.Equal(t, want, failures[0].Envelope)
	require.Zero(t, failures[1].Envelope)
	differs := e.diffed(&view{result: &api.PlacementResult{Differing: []api.DifferingObject{{ObjectRef: held.ObjectRef}}}})
	require.Equal(t, want, differs[0].Envelope)
	all, _ := selected(w.in.Latest.Manifests)
	require.Equal(t, want, all[0].Envelope)
}
