package door

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/hub/door/draft"
	"flotilla/hub/door/records"
	"flotilla/tests/elsewhen"
)

// Whatever a head, a retained snapshot or a release refers to survives; what nothing refers to goes
// with the second pass.
func TestSweepTakesOrphansAndNothingElse(t *testing.T) {
	ctx := bustest.Context(t)
	d := New(bustest.Start(t).Lead(t), Options{Log: zerolog.Nop()})
	apply := func(document string) {
		_, err := d.apply(ctx, &api.ApplyRequest{Asked: api.Asked{By: draft.Door()}, Documents: []json.RawMessage{json.RawMessage(document)}})
		require.NoError(t, err)
	}
	apply(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"shop"}}`)
	apply(`{"apiVersion":"v1","kind":"Service","metadata":{"name":"a","namespace":"shop"},"spec":{"clusterIP":"10.0.0.1"}}`)
	apply(`{"apiVersion":"placement.kubernetes-fleet.io/v1","kind":"ClusterResourcePlacement","metadata":{"name":"web"},
	  "spec":{"resourceSelectors":[{"group":"","version":"v1","kind":"Namespace","name":"shop"}]}}`)
	apply(`{"apiVersion":"v1","kind":"Service","metadata":{"name":"a","namespace":"shop"},"spec":{"clusterIP":"10.0.0.2","type":"NodePort"}}`)
	orphan := bustest.Put(t, d.store, []byte("nothing refers to this"))

	now := elsewhen.Now()
	d.keeper.Sweep(ctx, now)
	_, err := d.store.Content.Get(ctx, orphan)
	require.NoError(t, err, "one pass removes nothing")
	d.keeper.Sweep(ctx, now.Add(2*time.Hour))
	_, err = d.store.Content.Get(ctx, orphan)
	require.ErrorIs(t, err, bus.ErrNotFound)

	all, err := d.keeper.Referred()
	require.NoError(t, err)
	require.Len(t, all.Bodies, 4, "the namespace, the service as applied now and as placed before and now")
	require.Len(t, all.Works, 2)
	for digest := range all.Bodies {
		_, err := d.store.Content.Get(ctx, digest)
		require.NoError(t, err)
	}
	for digest := range all.Works {
		_, err := d.store.Content.Work(ctx, digest)
		require.NoError(t, err)
	}
}

// A bundle that another is built upon stays for as long as that one does, whatever became of its snapshot.
func TestWhatABundleIsBuiltUponIsNotSwept(t *testing.T) {
	ctx := bustest.Context(t)
	d := New(bustest.Start(t).Lead(t), Options{Log: zerolog.Nop()})
	apply := func(document string) (work string) {
		_, err := d.apply(ctx, &api.ApplyRequest{Asked: api.Asked{By: draft.Door()}, Documents: []json.RawMessage{json.RawMessage(document)}})
		require.NoError(t, err)
		if kept := d.records.Snapshots.Group("web"); len(kept) > 0 {
			require.Len(t, kept, 1)
			return kept[0].Value.Work
		}
		return ""
	}
	small := func(value string) string {
		return `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"small","namespace":"shop"},"data":{"a":"` + value + `"}}`
	}
	apply(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"shop"}}`)
	apply(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"large","namespace":"shop"},"data":{"a":"` + bustest.Noise(8<<10) + `"}}`)
	apply(small("1"))
	first := apply(`{"apiVersion":"placement.kubernetes-fleet.io/v1","kind":"ClusterResourcePlacement","metadata":{"name":"web"},
	  "spec":{"revisionHistoryLimit":1,"resourceSelectors":[{"group":"","version":"v1","kind":"Namespace","name":"shop"}]}}`)
	second := apply(small("2"))
	swept(t, d)
	for _, digest := range []string{first, second} {
		_, err := d.store.Content.Work(ctx, digest)
		require.NoError(t, err)
	}
	third := apply(small("3"))
	swept(t, d)
	for _, digest := range []string{first, second} {
		_, err := d.store.Content.Work(ctx, digest)
		require.ErrorIs(t, err, bus.ErrNotFound)
	}
	work, err := d.store.Content.Work(ctx, third)
	require.NoError(t, err)
	require.Empty(t, work.Packs, "of the snapshot that it could be built upon nothing is known any more")
}

// What clients keep on content, and on overrides, may hold values of Secrets: it lies sealed, for as long as its object is there.
func TestWhatClientsKeepIsSealedAndNotSwept(t *testing.T) {
	ctx := bustest.Context(t)
	d := New(bustest.Start(t).Lead(t), Options{Log: zerolog.Nop()})
	const memory = `"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"hunter2"}`
	for _, document := range []string{
		`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"key","namespace":"shop",` + memory + `},"stringData":{"a":"b"}}`,
		`{"apiVersion":"placement.kubernetes-fleet.io/v1","kind":"ClusterResourceOverride","metadata":{"name":"o",` + memory + `},"spec":{
		  "clusterResourceSelectors":[{"group":"","version":"v1","kind":"Namespace","name":"shop"}],"policy":{"overrideRules":[{"overrideType":"Delete"}]}}}`,
	} {
		_, err := d.apply(ctx, &api.ApplyRequest{Asked: api.Asked{By: draft.Door()}, Managed: true, Documents: []json.RawMessage{json.RawMessage(document)}})
		require.NoError(t, err)
	}
	swept(t, d)
	for _, table := range []*store.Records[api.Spec]{d.records.Objects, d.records.Specs[api.KindClusterResourceOverride]} {
		spec := table.All()[0].Value
		text, err := json.Marshal(spec)
		require.NoError(t, err)
		require.NotContains(t, string(text), "hunter2")
		managed, err := records.Managed(ctx, d.store.Content, &spec)
		require.NoError(t, err, spec.Object)
		require.Contains(t, managed.Metadata, "annotations")
	}
}
