package worker

import (
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"flotilla/bus/streams"
	"flotilla/core/api"
	"flotilla/core/content"
	"flotilla/core/seal"
	"flotilla/subjects"
	"flotilla/tests/elsewhen"
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
	body := h.store.Keys.Piece(h.store.Keys.Digest(strip(t, quiet)))
	for name, change := range map[string]func([]byte) []byte{
		"cut":     func(b []byte) []byte { return b[:len(b)/2] },
		"changed": func(b []byte) []byte { b[len(b)-1] ^= 1; return b },
		"empty":   func([]byte) []byte { return nil },
	} {
		stored, err := s.content(entry.At)
		require.NoError(t, err)
		require.NotContains(t, string(stored), "hunter2")
		require.NoError(t, s.journal.Put(contentPrefix+entry.At, change(stored), elsewhen.Now()))
		require.Equal(t, "hunter2", read(), name)
	}
	require.Equal(t, map[string]bool{entry.At: true, body.At: true}, shelf.inUse([]api.Piece{entry.Piece}))

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
	shelf.settle("web")
	require.Nil(t, shelf.read["web"].manifests, "nothing is kept in memory of what is well")
	require.Equal(t, []api.Piece{before.Piece}, shelf.works(), "it is needed until all of the other is there")
	held, err = shelf.manifests(t.Context(), after)
	require.NoError(t, err)
	require.Equal(t, manifests, held)

	anew := streams.NewContent(h.store.Conn, keys)
	require.NoError(t, anew.Put(t.Context(), manifests[0].Digest, strip(t, quiet)))
	work, err := h.store.Content.Work(t.Context(), before.Work)
	require.NoError(t, err)
	work = content.Keyed(work, keys)
	require.NoError(t, anew.PutBundle(t.Context(), before.Work, &work, nil))
	held, err = shelf.manifests(t.Context(), after)
	require.NoError(t, err)
	require.Equal(t, manifests, held)
	require.NoError(t, s.flush())
	_, err = s.content(after.At)
	require.NoError(t, err)
}

// asked counts the questions for content that agents ask.
func asked(t *testing.T, h *hub) (count func() int) {
	t.Helper()
	f := h.store.Conn.Fleet
	stream := f.BucketStream(subjects.Content)
	heard, err := h.store.Conn.NC.SubscribeSync(f.Reading(stream, f.BucketSubject(subjects.Content, "*")))
	require.NoError(t, err)
	require.NoError(t, h.store.Conn.NC.Flush())
	before := 0
	return func() int {
		require.NoError(t, h.store.Conn.NC.Flush())
		all, _, err := heard.Pending()
		require.NoError(t, err)
		before, all = all, all-before
		return all
	}
}

// bundled stores the work of texts, built upon an earlier one when there is one, and returns its entry.
func (h *hub) bundled(generation int64, earlier *content.Earlier, texts ...string) (api.IndexEntry, content.Earlier) {
	h.t.Helper()
	plan := content.Plan{Keys: h.store.Keys, Limit: h.store.Content.BundleLimit(), Size: func(api.Manifest) int { return 8 << 10 }}
	if earlier != nil {
		plan.Earlier = [][]content.Earlier{{*earlier}}
	}
	var manifests []api.Manifest
	for _, text := range texts {
		manifests = append(manifests, api.Manifest{ObjectRef: ref(text), Digest: h.put(strip(h.t, text))})
	}
	bundles, err := plan.Bundles(manifests)
	require.NoError(h.t, err)
	require.Len(h.t, bundles, 1)
	require.NoError(h.t, h.store.Content.PutBundle(h.t.Context(), bundles[0].Digest, &bundles[0].Work, nil))
	return h.entryOf("web", generation, bundles[0].Digest), content.Earlier{Work: bundles[0].Digest, Manifests: manifests}
}

// Content is asked for once a snapshot; who has the one before asks for what changed, who has not for that one too, and
// who finds it gone for each object that it lacks.
func TestContentIsFetchedOnceASnapshot(t *testing.T) {
	h := newHub(t)
	first, earlier := h.bundled(1, nil, shop, config, quiet)
	second, _ := h.bundled(2, &earlier, shop, strings.Replace(config, "a: '1'", "a: '2'", 1), quiet)
	require.NotEqual(t, first.At, second.At)
	count := asked(t, h)
	agent := func() *shelf {
		return &shelf{store: open(t, t.TempDir(), "berlin"), hub: h.server.Agent(t, "berlin"), read: map[string]readWork{}}
	}
	reads := func(s *shelf, e api.IndexEntry) int {
		manifests, err := s.manifests(t.Context(), e)
		require.NoError(t, err)
		require.Len(t, manifests, 3)
		for i := range manifests {
			require.Empty(t, manifests[i].Fault)
		}
		return count()
	}
	old, newcomer, late := agent(), agent(), agent()
	require.Equal(t, 1, reads(old, first))
	require.Equal(t, 1, reads(old, second))
	require.Equal(t, 2, reads(newcomer, second))
	require.Equal(t, map[string]bool{first.At: true, second.At: true}, bundlesOf(t, old.store, old.inUse([]api.Piece{second.Piece})))

	stream, err := h.store.Conn.JS.Stream(t.Context(), h.store.Conn.Fleet.BucketStream(subjects.Content))
	require.NoError(t, err)
	gone := h.store.Conn.Fleet.BucketSubject(subjects.Content, first.At)
	require.NoError(t, stream.Purge(t.Context(), jetstream.WithPurgeSubject(gone)))
	h.server.ReadAnew(t)
	require.Equal(t, 2+2, reads(late, second))
}

// bundlesOf are those places of all that hold bundles on a disk.
func bundlesOf(t *testing.T, s *diskStore, places map[string]bool) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	for at := range places {
		if stored, err := s.content(at); err == nil {
			_, _, err := seal.Unbundle(stored)
			require.NoError(t, err)
			out[at] = true
		}
	}
	return out
}

// A member that is given a work opens of an earlier bundle what the work names, and nothing else of it.
func TestAWorkOpensNothingElseOfTheBundleThatItIsBuiltUpon(t *testing.T) {
	h := newHub(t)
	_, earlier := h.bundled(1, nil, shop, config, quiet)
	second, _ := h.bundled(2, &earlier, shop, config)
	s := &shelf{store: open(t, t.TempDir(), "berlin"), hub: h.server.Agent(t, "berlin"), read: map[string]readWork{}}
	work, _, err := s.work(t.Context(), second.Piece)
	require.NoError(t, err)
	bodies, err := s.pack(t.Context(), work.Packs[0].At)
	require.NoError(t, err)
	opened := 0
	for _, body := range bodies {
		for _, m := range work.Manifests {
			if text, err := seal.Open(m.Piece, body, 1<<20); err == nil {
				require.NotContains(t, string(text), "hunter2")
				opened++
			}
		}
	}
	require.Len(t, bodies, 3)
	require.Equal(t, 2, opened)
}
