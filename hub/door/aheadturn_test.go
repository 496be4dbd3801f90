package door

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/hub/door/bundles"
	"flotilla/hub/door/draft"
)

// What takes long is stored while others have the turn: within it nothing is read or sealed, unless what is selected has changed
// meanwhile, and then that alone (H55).
func TestContentIsStoredBeforeTheTurn(t *testing.T) {
	ctx := bustest.Context(t)
	d := New(bustest.Start(t).Lead(t), Options{Log: zerolog.Nop()})
	const objects, bytes = 8, 800 << 10
	moved := func(do func()) (read, sealed int64) {
		readBefore, sealedBefore := d.store.Content.Moved()
		do()
		read, sealed = d.store.Content.Moved()
		return read - readBefore, sealed - sealedBefore
	}
	request := func(document string) *api.ApplyRequest {
		return &api.ApplyRequest{Asked: api.Asked{By: draft.Door()}, Documents: []json.RawMessage{json.RawMessage(document)}}
	}
	config := func(i int, text string) string {
		return fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c%d","namespace":"shop"},"data":{"a":%q}}`, i, text)
	}
	apply := func(ctx context.Context, document string) error {
		_, err := d.apply(ctx, request(document))
		return err
	}
	require.NoError(t, apply(ctx, `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"shop"}}`))
	for i := range objects {
		require.NoError(t, apply(ctx, config(i, bustest.Noise(bytes*3/4))))
	}
	const placement = `{"apiVersion":"placement.kubernetes-fleet.io/v1","kind":"ClusterResourcePlacement","metadata":{"name":"web"},
	  "spec":{"resourceSelectors":[{"group":"","version":"v1","kind":"Namespace","name":"shop"}]}}`

	ahead := &bundles.Ahead{}
	drafts := ahead.In(ctx)
	read, sealed := moved(func() { require.ErrorIs(t, apply(drafts, placement), bundles.ErrLater) })
	require.Zero(t, read+sealed, "within the turn nothing is done")
	require.Empty(t, d.records.Snapshots.Group("web"))
	read, _ = moved(func() { require.NoError(t, ahead.Do(ctx)) })
	require.Greater(t, read, int64(objects*bytes/2))
	swept(t, d)
	require.NoError(t, apply(ctx, config(0, bustest.Noise(bytes*3/4))), "meanwhile")
	require.NoError(t, apply(ctx, config(1, "small")), "meanwhile")
	read, sealed = moved(func() { require.NoError(t, apply(drafts, placement)) })
	require.Less(t, read+sealed, int64(3*bytes), "what changed meanwhile, and nothing else")
	ahead.Free()
	require.Len(t, d.records.Snapshots.Group("web"), 1)
	swept(t, d)
	snapshot := d.records.Snapshots.Group("web")[0].Value
	for _, digest := range append(snapshot.Packs, snapshot.Work) {
		_, err := d.store.Content.Work(ctx, digest)
		require.NoError(t, err)
	}

	ahead = &bundles.Ahead{}
	drafts = ahead.In(ctx)
	third := strings.Replace(placement, `"web"`, `"third"`, 1)
	require.ErrorIs(t, apply(drafts, third), bundles.ErrLater)
	require.NoError(t, ahead.Do(ctx))
	read, sealed = moved(func() { require.NoError(t, apply(drafts, third), "nothing is left to be stored") })
	require.Zero(t, read+sealed)
	ahead.Free()

	// who is served so finds it stored, and leaves the turn to others meanwhile
	body, err := json.Marshal(request(`{"apiVersion":"placement.kubernetes-fleet.io/v1","kind":"ClusterResourcePlacement","metadata":{"name":"second"},
	  "spec":{"resourceSelectors":[{"group":"","version":"v1","kind":"Namespace","name":"shop"}]}}`))
	require.NoError(t, err)
	leave, err := d.desk.Storing.Take(ctx, "olga")
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() {
		_, err := d.verbs()[api.VerbApply](ctx, api.Caller{Name: "olga", Role: api.RoleAdmin, Request: "one"}, body)
		done <- err
	}()
	for range 3 {
		require.NoError(t, d.desk.Take(ctx), "who waits to store has no turn")
		d.desk.Leave()
	}
	leave()
	require.NoError(t, <-done)
	require.Len(t, d.records.Snapshots.Group("second"), 1)
}

// What was stored ahead for a request that came to nothing goes, as all does that nothing refers to; not before that.
func TestWhatIsStoredAheadInVainGoes(t *testing.T) {
	ctx := bustest.Context(t)
	d := New(bustest.Start(t).Lead(t), Options{Log: zerolog.Nop()})
	request := &api.ApplyRequest{Asked: api.Asked{By: draft.Door()}}
	for i := range 6 {
		request.Documents = append(request.Documents, json.RawMessage(fmt.Sprintf(
			`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c%d","namespace":"shop"},"data":{"a":%q}}`, i, bustest.Noise(600<<10))))
	}
	ahead := &bundles.Ahead{}
	_, err := d.apply(ahead.In(ctx), request)
	require.ErrorIs(t, err, bundles.ErrLater)
	require.NoError(t, ahead.Do(ctx))
	for _, c := range []struct{ stored int }{{6}, {0}} {
		swept(t, d)
		stored, err := d.store.Content.Stored(ctx)
		require.NoError(t, err)
		require.Len(t, stored, c.stored)
		ahead.Free()
	}
}
