package door_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/hub/door"
	"flotilla/subjects"
	"flotilla/tests/elsewhen"
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

// Placements of which each change of one namespace cuts all anew hold a bounded number of objects together, however many requests wrote them.
// Whoever changes something that is there is not refused for it.
func TestPlacementsOfOneNamespaceAreBounded(t *testing.T) {
	h := open(t, door.Options{})
	h.apply(shopNamespace, settings, config("more", "1"), web)
	const crowds, objects = 15, 20_000
	for i := range crowds {
		s := api.Snapshot{Header: api.NewHeader(api.KindSnapshot), Placement: fmt.Sprint("crowd", i), UID: fmt.Sprint("u", i), Index: 1, Manifests: make([]api.Manifest, objects)}
		for j := range s.Manifests {
			s.Manifests[j] = api.Manifest{ObjectRef: api.ObjectRef{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: fmt.Sprint("c", j)}}
		}
		write(h, subjects.Snapshots, subjects.SnapshotName(s.Placement, 1), s)
	}
	for _, texts := range [][]string{
		{strings.ReplaceAll(web, "name: web", "name: other")},                         // one placement more
		{`{apiVersion: v1, kind: ConfigMap, metadata: {name: new, namespace: shop}}`}, // one object more
	} {
		failure := h.refuse(texts...)
		require.Equal(t, api.CodeTooLarge, failure.Code)
		require.Regexp(t, `^the placements that hold something of namespace shop would hold 3\d{5} objects in all, at most 300000: `, failure.Message)
	}
	require.Equal(t, api.ActionConfigured, h.apply(config("settings", "7"))[0].Action, "what is there may change")
	require.Equal(t, api.ActionCreated, h.apply(`{apiVersion: v1, kind: Namespace, metadata: {name: tea}}`, placementOf("tea", "tea"))[1].Action, "and elsewhere there is room")
	h.delete("ConfigMap", "shop", "more")
	gone := metav1.NewTime(elsewhen.Now())
	for i, deleted := range []*metav1.Time{nil, &gone} { // its members have not confirmed that it goes
		write(h, subjects.PlacementSpecs, "crowd1", api.Spec{
			Header: api.NewHeader(api.KindSpec), UID: "u1", Deleted: deleted, Object: api.ObjectRef{APIVersion: api.PlacementVersion, Kind: api.KindClusterResourcePlacement, Name: "crowd1"},
		})
		other := strings.ReplaceAll(web, "name: web", "name: other")
		if i == 0 {
			require.Equal(t, api.CodeTooLarge, h.refuse(other).Code)
		} else {
			h.apply(other)
			h.delete(api.KindClusterResourcePlacement, "", "other")
		}
	}
	write(h, subjects.PlacementSpecs, "crowd1", api.Spec{
		Header: api.NewHeader(api.KindSpec), UID: "u1", Object: api.ObjectRef{APIVersion: api.PlacementVersion, Kind: api.KindClusterResourcePlacement, Name: "crowd1"},
	})
	erase[api.Snapshot](h, subjects.Snapshots, subjects.SnapshotName("crowd0", 1))
	h.apply(strings.ReplaceAll(web, "name: web", "name: other"))
}
