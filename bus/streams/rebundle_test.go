package streams_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/core/content"
	"flotilla/core/seal"
)

// What lies in a bundle and nowhere else, as what overrides made of an object does, is in it also once it was sealed anew.
func TestABundleKeepsWhatLiesNowhereElse(t *testing.T) {
	store := bustest.Start(t).Lead(t)
	body := []byte(`{"kind":"ConfigMap","n":1}`)
	manifest := api.Manifest{ObjectRef: api.ObjectRef{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "web"}, Digest: store.Keys.Digest(body)}
	plan := content.Plan{Keys: store.Keys, Limit: 1 << 20, Size: func(api.Manifest) int { return len(body) }}
	bundles, err := plan.Bundles([]api.Manifest{manifest})
	require.NoError(t, err)
	work := &bundles[0]
	ctx := bustest.Context(t)
	require.NoError(t, store.Content.PutBundle(ctx, work.Digest, &work.Work, map[string][]byte{manifest.Digest: body}))
	before, err := store.Content.Raw(ctx, store.Keys.Piece(work.Digest).At)
	require.NoError(t, err)

	store.Keys.Content = append([][]byte{[]byte("another secret of thirty-two b!!")}, store.Keys.Content...)
	require.NoError(t, store.Content.Rebundle(ctx, work.Digest, func(w api.Work) api.Work { return content.Keyed(w, store.Keys) }))
	after, err := store.Content.Raw(ctx, store.Keys.Piece(work.Digest).At)
	require.NoError(t, err)
	require.NotEqual(t, before, after)
	require.Len(t, after, len(before), "the body is in it")
}

// A bundle that is stored is not made again, and a body is carried as it lies: it is read once, and not sealed again.
func TestABundleThatIsStoredIsNotMadeAgain(t *testing.T) {
	store := bustest.Start(t).Lead(t)
	ctx := bustest.Context(t)
	body := []byte(`{"kind":"ConfigMap","n":1}`)
	manifest := api.Manifest{ObjectRef: api.ObjectRef{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "web"}, Digest: bustest.Put(t, store, body)}
	plan := content.Plan{Keys: store.Keys, Limit: 1 << 20, Size: func(api.Manifest) int { return len(body) }}
	bundles, err := plan.Bundles([]api.Manifest{manifest})
	require.NoError(t, err)
	work := &bundles[0]
	at := store.Keys.Piece(work.Digest).At

	lies, err := store.Content.Raw(ctx, store.Keys.Piece(manifest.Digest).At)
	require.NoError(t, err)
	for range 2 {
		require.NoError(t, store.Content.PutBundle(ctx, work.Digest, &work.Work, nil))
		read, sealed := store.Content.Moved()
		require.EqualValues(t, len(lies), read)
		require.Zero(t, sealed)
	}
	bundle, err := store.Content.Raw(ctx, at)
	require.NoError(t, err)
	_, bodies, err := seal.Unbundle(bundle)
	require.NoError(t, err)
	require.Equal(t, [][]byte{lies}, bodies)

	store.Keys.Content = append([][]byte{[]byte("another secret of thirty-two b!!")}, store.Keys.Content...)
	anew := content.Keyed(work.Work, store.Keys)
	require.NoError(t, store.Content.PutBundle(ctx, work.Digest, &anew, nil))
	_, sealed := store.Content.Moved()
	require.EqualValues(t, len(body), sealed, "it lies as it was before the rotation")
}

// What is reserved stays, however long nothing refers to it, and goes once it is not reserved any more.
func TestWhatIsReservedIsNotSwept(t *testing.T) {
	store := bustest.Start(t).Lead(t)
	digest := store.Keys.Digest([]byte("a"))
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	sweep := func() (removed []string) {
		for range 2 {
			now = now.Add(2 * time.Hour)
			gone, err := store.Content.Sweep(bustest.Context(t), now, func() (map[string]bool, bool, error) { return map[string]bool{}, true, nil }, leads)
			require.NoError(t, err)
			removed = append(removed, gone...)
		}
		return removed
	}
	first, second := store.Content.Reserve(digest), store.Content.Reserve(digest)
	require.Equal(t, digest, bustest.Put(t, store, []byte("a")))
	require.Empty(t, sweep())
	first()
	require.Empty(t, sweep(), "another wants it")
	second()
	require.Equal(t, []string{store.Keys.Piece(digest).At}, sweep())
}
