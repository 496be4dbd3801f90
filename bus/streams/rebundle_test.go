package streams_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/core/content"
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
