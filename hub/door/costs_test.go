package door_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus/bustest"
	"flotilla/bus/store"
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
	var many []string
	for i := range 100 {
		many = append(many, config(fmt.Sprint("new", i), "1"))
	}
	for _, texts := range [][]string{
		{strings.ReplaceAll(web, "name: web", "name: other")}, // one placement more
		many, // objects more
	} {
		failure := h.refuse(texts...)
		require.Equal(t, api.CodeTooLarge, failure.Code)
		require.Regexp(t, `^the placements that hold something of namespace shop would hold 3\d{5} objects in all, at most 300000, where one that holds fewer than 100 counts as that many: `, failure.Message)
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

// How often the selectors of all placements look at objects is bounded, however many requests wrote them, before anybody looks: a hub
// that takes over looks at all. Whatever does not make it more is not refused (H48).
func TestHowOftenPlacementsLookIsBounded(t *testing.T) {
	h := open(t, door.Options{})
	const objects = 1000
	role := func(name, label string) string {
		return fmt.Sprintf(`{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: %s, labels: {label: %s}}}`, name, label)
	}
	for i := 0; i < objects; i += 500 {
		var documents []string
		for j := range 500 {
			documents = append(documents, role(fmt.Sprint("r", i+j), "first"))
		}
		h.apply(documents...)
	}
	looker := func(name string, requirements int) string {
		var asked []string
		for i := range requirements {
			asked = append(asked, fmt.Sprintf("{key: none%d, operator: Exists}", i))
		}
		selector := `{group: rbac.authorization.k8s.io, version: v1, kind: ClusterRole, labelSelector: {matchExpressions: [` + strings.Join(asked, ", ") + `]}}`
		return fmt.Sprintf(`{apiVersion: placement.kubernetes-fleet.io/v1, kind: ClusterResourcePlacement, metadata: {name: %s}, spec: {
		  resourceSelectors: [%s], policy: {placementType: PickFixed, clusterNames: [nowhere]}}}`, name, selector)
	}
	lookers := func(of string, n, requirements int) (all []string) {
		for i := range n {
			all = append(all, looker(fmt.Sprint(of, i), requirements))
		}
		return all
	}
	require.Contains(t, h.refuse(lookers("p", 51, 100)...).Message, "look at objects more than 5000000 times in all")
	for i := range 4 {
		h.apply(lookers(fmt.Sprint("p", i, "-"), 50, 100)...)
	}
	const beyond = `^the selectors of all placements would look at ClusterRole\.rbac\.authorization\.k8s\.io %d times, %d times more than now, at most 20000000, `
	for _, c := range []struct {
		document   string
		looks, now int
	}{
		{looker("one", 1), 20_001_000, 1000},
		{role("one", "new"), 20_020_000, 20_000},
	} {
		failure := h.refuse(c.document)
		require.Equal(t, api.CodeTooLarge, failure.Code)
		require.Regexp(t, fmt.Sprintf(beyond, c.looks, c.now), failure.Message)
	}
	require.Equal(t, api.ActionConfigured, h.apply(role("r0", "other"))[0].Action, "what is there may change")
	h.apply(placementOf("tea", "tea"), `{apiVersion: v1, kind: Namespace, metadata: {name: tea}}`)
	require.Equal(t, api.ActionConfigured, h.apply(looker("p0-0", 99))[0].Action, "looks may become fewer")
	h.apply(looker("one", 1))
	require.Equal(t, api.CodeTooLarge, h.refuse(role("one", "new")).Code)
	must[api.ApplyResult](h, api.VerbDelete, api.DeleteRequest{Request: h.id(), Object: api.ObjectRef{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole", Name: "r1"}})
	h.delete(api.KindClusterResourcePlacement, "", "p0-1")
	h.apply(role("one", "new"))
	h.stop()
	h.run(door.Options{}) // the next one counts what it finds
	require.Regexp(t, "^the selectors of all placements would look at ", h.refuse(looker("two", 100), looker("three", 100)).Message)
}

// What one request has all placements of all namespaces cut anew is bounded too; each of its documents alone may change (H48).
func TestAChangeOfManyNamespacesIsBounded(t *testing.T) {
	h := open(t, door.Options{})
	namespace := func(name, label string) string {
		return fmt.Sprintf(`{apiVersion: v1, kind: Namespace, metadata: {name: %s, labels: {label: %s}}}`, name, label)
	}
	h.apply(namespace("a", "first"), namespace("b", "first"))
	table := store.TableOf[api.Spec](h.store.State, subjects.PlacementSpecs)
	for _, of := range []string{"a", "b"} {
		var ops []store.Op
		for i := range 1_600 { // each of one object counts as a hundred
			name := fmt.Sprint(of, i)
			ops = append(ops, store.Put(table.Key(name), api.Spec{
				Header: api.NewHeader(api.KindSpec), UID: name, Generation: 1, Body: docs(t, placementOf(name, of))[0],
				Object: api.ObjectRef{APIVersion: api.PlacementVersion, Kind: api.KindClusterResourcePlacement, Name: name},
			}, 0))
		}
		for ; len(ops) > 0; ops = ops[min(len(ops), 800):] {
			_, err := h.store.Writer.Write(bustest.Context(t), ops[:min(len(ops), 800)]...)
			require.NoError(t, err)
		}
	}
	failure := h.refuse(namespace("a", "second"), namespace("b", "second"))
	require.Equal(t, api.CodeTooLarge, failure.Code)
	require.Contains(t, failure.Message, "the placements that select what the request changes hold more than 300000 objects in all, where one that holds fewer than 100 counts as that many")
	require.Empty(t, h.snapshots("a0"))
	h.apply(namespace("a", "second"), config("free", "1"))
	h.apply(namespace("b", "second"))
	require.Len(t, h.snapshots("b1599"), 1)
}
