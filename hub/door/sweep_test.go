package door

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/store"
	"flotilla/bus/streams"
	"flotilla/core/api"
	"flotilla/hub/door/draft"
	"flotilla/hub/door/records"
	"flotilla/subjects"
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
	_, err := d.store.Content.Work(ctx, second)
	require.ErrorIs(t, err, bus.ErrNotFound)
	_, err = d.store.Content.Work(ctx, first)
	require.NoError(t, err, "its snapshot is gone, and what is built upon it is there")
	work, err := d.store.Content.Work(ctx, third)
	require.NoError(t, err)
	require.Len(t, work.Packs, 1)
	require.Equal(t, first, work.Packs[0].Digest)
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

// Whoever changes large objects again and again waits until what these were before is gone; others do not.
func TestWhoLeavesTooMuchIdleWaits(t *testing.T) {
	ctx := bustest.Context(t)
	d := New(bustest.Start(t).Lead(t), Options{Log: zerolog.Nop()})
	stream, err := d.store.Conn.JS.Stream(ctx, d.store.Conn.Fleet.BucketStream(subjects.Content))
	require.NoError(t, err)
	config := stream.CachedInfo().Config
	config.MaxBytes = 1 << 20 // a part of which is 64 KiB
	_, err = d.store.Conn.JS.UpdateStream(ctx, config)
	require.NoError(t, err)
	handler := d.withRoom(api.VerbApply, func(ctx context.Context, by api.Caller, body []byte) (any, error) {
		return d.apply(ctx, &api.ApplyRequest{Asked: api.Asked{By: by}, Documents: []json.RawMessage{body}})
	})
	apply := func(person, name string) error {
		_, err := handler(ctx, api.Caller{Name: person, Role: api.RoleOperator}, []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"`+name+`","namespace":"shop"},"data":{"a":"`+bustest.Noise(24<<10)+`"}}`))
		return err
	}
	now := d.store.Now()
	for range 5 {
		require.NoError(t, apply("olga", "large"))
	}
	d.keeper.Press(ctx, now)
	var refused *api.Failure
	require.ErrorAs(t, apply("olga", "large"), &refused)
	require.Equal(t, api.CodeNoRoom, refused.Code)
	require.Contains(t, refused.Message, "nothing was stored: of the objects that olga wrote, ")
	require.Contains(t, refused.Message, " are former versions that nothing refers to any more, at most 64 KiB may be kept; they are removed by "+now.Add(45*time.Second).UTC().Format("15:04:05Z"))
	require.NoError(t, apply("ines", "other"))

	d.keeper.Press(ctx, now.Add(31*time.Second))
	require.NoError(t, apply("olga", "large"))
	for _, head := range d.records.Objects.All() {
		_, err := d.store.Content.Get(ctx, head.Value.Digest)
		require.NoError(t, err, "what is referred to stays")
	}
}

// What one person does in a day takes a quarter of the room for what people did: beyond it that person is refused, and beyond twice that also
// what stops something. Others go on, and so does whoever asks what would be done.
func TestWhoDoesTooMuchInADayWaits(t *testing.T) {
	ctx, running := bustest.Context(t), bustest.Start(t)
	hub := running.Hub(t)
	_, err := streams.EnsureLayout(ctx, hub, streams.LayoutOptions{})
	require.NoError(t, err)
	stream, err := hub.JS.Stream(ctx, hub.Fleet.Stream(subjects.Acts))
	require.NoError(t, err)
	config := stream.CachedInfo().Config
	config.MaxBytes = 64 << 10 // a part of which is 16 KiB
	_, err = hub.JS.UpdateStream(ctx, config)
	require.NoError(t, err)
	d := New(running.Lead(t), Options{Log: zerolog.Nop()})
	handler := func(context.Context, api.Caller, []byte) (any, error) { return nil, nil }
	asks := func(person, verb, body string) error {
		_, err := d.withRoom(verb, handler)(ctx, api.Caller{Name: person}, []byte(body))
		return err
	}
	does := func(person string, bytes int) {
		for before, _ := d.store.Audit.Acts(person, 0); ; {
			d.store.Audit.Tell(ctx, api.Audit{Object: "placement/web", By: person, Request: "r", Message: strings.Repeat("x", 500)})
			if now, _ := d.store.Audit.Acts(person, 0); now-before > int64(bytes) {
				return
			}
		}
	}
	does("olga", 8<<10)
	require.NoError(t, asks("olga", api.VerbApply, "{}"))
	does("olga", 9<<10)
	err = asks("olga", api.VerbApply, "{}")
	var refused *api.Failure
	require.ErrorAs(t, err, &refused)
	require.Equal(t, api.CodeNoRoom, refused.Code)
	require.Regexp(t, `^nothing was stored: the events of what olga did in a day take 1\d KiB, at most 16 KiB may be, so that they push out those of nobody else; ask again from \S+Z on, `, refused.Message)
	require.NoError(t, asks("olga", api.VerbApply, `{"dryRun":true}`))
	require.NoError(t, asks("olga", api.VerbFreeze, "{}"))
	require.NoError(t, asks("ines", api.VerbApply, "{}"))
	does("olga", 17<<10)
	require.Error(t, asks("olga", api.VerbFreeze, "{}"))
	require.NoError(t, asks("ines", api.VerbFreeze, "{}"))
}

// Where room is short, what nothing refers to goes within a minute, whosoever it was.
func TestFullContentIsSweptSoon(t *testing.T) {
	ctx := bustest.Context(t)
	d := New(bustest.Start(t).Lead(t), Options{Log: zerolog.Nop()})
	orphan := bustest.Put(t, d.store, []byte(bustest.Noise(4<<10)))
	stream, err := d.store.Conn.JS.Stream(ctx, d.store.Conn.Fleet.BucketStream(subjects.Content))
	require.NoError(t, err)
	config, now := stream.CachedInfo().Config, d.store.Now()
	pressed := func(bytes uint64) {
		t.Helper()
		config.MaxBytes = int64(bytes)
		_, err = d.store.Conn.JS.UpdateStream(ctx, config)
		require.NoError(t, err)
		d.keeper.Press(ctx, now)
		d.keeper.Press(ctx, now.Add(31*time.Second))
		_, err = d.store.Content.Get(ctx, orphan)
	}
	held := stream.CachedInfo().State.Bytes
	pressed(2 * held)
	require.NoError(t, err, "there is room")
	pressed(held + held/8)
	require.ErrorIs(t, err, bus.ErrNotFound)
}
