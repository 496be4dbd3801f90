package worker

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/bus/streams"
	"flotilla/core/api"
	"flotilla/core/content"
	"flotilla/core/seal"
)

const quiet = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: quiet, namespace: shop}\ndata: {password: hunter2}"

// What lies on the disk is sealed; a file that was cut short or changed is fetched again, and content is opened
// with the key of its own place alone.
func TestContentOnTheDiskIsSealedAndFetchedAgainWhenItWasChanged(t *testing.T) {
	h, dir := newHub(t), t.TempDir()
	entry := h.entry("web", 1, quiet)
	s := open(t, dir, "berlin")
	shelf := &shelf{store: s, hub: h.server.Agent(t, "berlin"), read: map[string]readWork{}}
	read := func() string {
		shelf.forget("web")
		manifests, err := shelf.manifests(t.Context(), entry)
		require.NoError(t, err)
		require.NoError(t, s.flush())
		require.Len(t, manifests, 1)
		return manifests[0].Object.Object["data"].(map[string]any)["password"].(string)
	}
	require.Equal(t, "hunter2", read())
	piece := h.store.Keys.Piece(h.store.Keys.Digest(strip(t, quiet)))
	for name, change := range map[string]func([]byte) []byte{
		"cut":     func(b []byte) []byte { return b[:len(b)/2] },
		"changed": func(b []byte) []byte { b[len(b)-1] ^= 1; return b },
		"empty":   func([]byte) []byte { return nil },
	} {
		stored, err := os.ReadFile(s.contentPath(piece.At))
		require.NoError(t, err)
		require.NotContains(t, string(stored), "hunter2")
		require.NoError(t, os.WriteFile(s.contentPath(piece.At), change(stored), 0o600))
		require.Equal(t, "hunter2", read(), name)
	}
	require.Equal(t, map[string]bool{entry.At: true, piece.At: true}, shelf.inUse([]api.Piece{entry.Piece}))

	foreign := entry
	foreign.Key = make([]byte, seal.KeyBytes)
	shelf.forget("web")
	_, err := shelf.manifests(t.Context(), foreign)
	require.ErrorIs(t, err, errNotYet, "the index that is stored may say otherwise")
	require.ErrorIs(t, err, seal.ErrSealed)
}

// What is sealed anew is fetched to the disk from where it lies now; until all of it is there, what was read holds.
func TestContentThatIsSealedAnewIsFetchedAgain(t *testing.T) {
	h := newHub(t)
	before := h.entry("web", 1, quiet)
	s := open(t, t.TempDir(), "berlin")
	shelf := &shelf{store: s, hub: h.server.Agent(t, "berlin"), read: map[string]readWork{}}
	manifests, err := shelf.manifests(t.Context(), before)
	require.NoError(t, err)

	keys := &seal.Keyring{Digests: h.store.Keys.Digests, Content: [][]byte{make([]byte, seal.KeyBytes)}}
	after := before
	after.Piece = keys.Piece(before.Work)
	held, err := shelf.manifests(t.Context(), after)
	require.NoError(t, err)
	require.Equal(t, manifests, held)

	body := keys.Piece(manifests[0].Digest)
	anew := streams.NewContent(h.store.Conn, keys)
	text, digest, err := content.Work([]api.Manifest{manifests[0].Manifest}, keys)
	require.NoError(t, err)
	require.Equal(t, before.Work, digest)
	require.NoError(t, anew.Put(t.Context(), digest, text))
	require.NoError(t, anew.Put(t.Context(), manifests[0].Digest, strip(t, quiet)))
	held, err = shelf.manifests(t.Context(), after)
	require.NoError(t, err)
	require.Equal(t, manifests, held)
	require.NoError(t, s.flush())
	require.FileExists(t, s.contentPath(after.At))
	require.FileExists(t, s.contentPath(body.At))
}
