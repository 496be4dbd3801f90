package door_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/hub/door"
)

// placementOf places a namespace on all members.
func placementOf(name, namespace string) string {
	return fmt.Sprintf(`{apiVersion: placement.kubernetes-fleet.io/v1, kind: ClusterResourcePlacement, metadata: {name: %s},
  spec: {resourceSelectors: [{group: "", version: v1, kind: Namespace, name: %s}], policy: {placementType: PickAll}}}`, name, namespace)
}

// A placement that selects more than a snapshot holds has a snapshot that says so. What else is in the request is stored
// and told, what others apply too, and the door opens again.
func TestASnapshotThatIsTooLargeHoldsUpNothing(t *testing.T) {
	h := open(t, door.Options{})
	h.apply(`{apiVersion: v1, kind: Namespace, metadata: {name: a}}`, `{apiVersion: v1, kind: Namespace, metadata: {name: b}}`)
	random := rand.New(rand.NewPCG(1, 1))
	for range 12 {
		var all []json.RawMessage
		for range 500 {
			name := make([]byte, 245)
			for i := range name {
				name[i] = "abcdefghijklmnopqrstuvwxyz0123456789"[random.IntN(36)]
			}
			all = append(all, json.RawMessage(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"`+string(name)+`","namespace":"b"}}`))
		}
		must[api.ApplyResponse](h, api.VerbApply, api.ApplyRequest{Request: h.id(), Documents: all})
	}
	texts := []string{config("last", "1")}
	for i := range 460 { // with their snapshots more than one batch
		texts = append(texts, placementOf(fmt.Sprintf("p%03d", i), "a"))
	}
	results := h.apply(append(texts, shopNamespace, placementOf("zz", "b"))...)
	require.Equal(t, api.ActionCreated, results[len(results)-1].Action)
	shown := fmt.Sprint(h.get(api.KindClusterResourcePlacement, "", "zz")["status"])
	require.Contains(t, shown, "it selects 6001 objects, whose names take more than a snapshot may")
	for _, object := range []string{"placement/zz", "placement/p000", "object/ConfigMap/shop/last"} {
		bustest.Eventually(t, func() error {
			if len(h.events(object)) == 0 {
				return fmt.Errorf("no event of %s", object)
			}
			return nil
		})
	}
	cut := len(h.snapshots("zz"))
	h.apply(config("last", "2"))
	require.Len(t, h.snapshots("zz"), cut, "the same is not said again")
	h.stop()
	h.run(door.Options{})
	h.apply(config("last", "3"))
}
