package door_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/hub/door"
)

// What one request has all others wait for is bounded (H44).
func TestWritesThatSelectTooMuchAreRefused(t *testing.T) {
	h := open(t, door.Options{})
	const objects = 1000
	documents := []string{`{apiVersion: v1, kind: Namespace, metadata: {name: big}}`}
	for i := range objects {
		documents = append(documents, fmt.Sprintf(`{apiVersion: v1, kind: ConfigMap, metadata: {name: c%d, namespace: big}}`, i))
	}
	for len(documents) > 0 {
		n := min(len(documents), 500)
		h.apply(documents[:n]...)
		documents = documents[n:]
	}
	placements := func(n int) *api.Failure {
		var wanted []string
		for i := range n {
			wanted = append(wanted, fmt.Sprintf(`{apiVersion: placement.kubernetes-fleet.io/v1, kind: ClusterResourcePlacement, metadata: {name: p%d}, spec: {
			  resourceSelectors: [{group: "", version: v1, kind: Namespace, name: big}], policy: {placementType: PickFixed, clusterNames: [nowhere]}}}`, i))
		}
		_, failure := ask[api.ApplyResponse](h, api.VerbApply, api.ApplyRequest{Documents: docs(t, wanted...)})
		return failure
	}
	failure := placements(30)
	require.NotNil(t, failure)
	require.Equal(t, api.CodeTooLarge, failure.Code)
	require.Contains(t, failure.Message, "the placements of the request select more than 30000 objects in all")
	require.Nil(t, placements(3))
}
