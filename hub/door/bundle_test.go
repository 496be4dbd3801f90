package door_test

import (
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/core/content"
	"flotilla/core/seal"
	"flotilla/hub/door"
	"flotilla/subjects"
)

// bundled is the work of a snapshot, and how many bytes its bundle takes.
func (h *house) bundled(s *api.Snapshot) (work api.Work, bytes int) {
	h.t.Helper()
	work, err := h.store.Content.Work(bustest.Context(h.t), s.Work)
	require.NoError(h.t, err)
	bundle, err := h.store.Content.Raw(bustest.Context(h.t), h.store.Keys.Piece(s.Work).At)
	require.NoError(h.t, err)
	return work, len(bundle)
}

// What changed of a placement is stored anew, and what did not is named in the bundle of before; where little is saved
// it is stored whole, and what was selected before is known again.
func TestASnapshotIsBuiltUponTheOneBefore(t *testing.T) {
	h := open(t, door.Options{})
	noise := bustest.Noise(20 << 10)
	h.apply(shopNamespace, web, config("large", noise), config("a", "1"))
	h.apply(config("a", "2"))
	h.apply(config("b", "1"))
	h.apply(config("large", "small"))
	h.apply(config("large", noise), config("a", "1"), config("b", "1"))
	s := h.snapshots("web")
	require.Len(t, s, 5)
	whole, large := h.bundled(&s[0])
	require.Empty(t, whole.Packs)
	require.Greater(t, large, 20<<10)
	for i, own := range map[int][]string{1: {"a"}, 2: {"a", "b"}} {
		require.Equal(t, []string{s[0].Work}, s[i].Packs)
		work, small := h.bundled(&s[i])
		require.Equal(t, s[0].Work, work.Packs[0].Digest)
		require.Less(t, small, 4<<10)
		var carried []string
		for _, m := range work.Manifests {
			if m.Pack == 0 {
				carried = append(carried, m.Name)
			}
		}
		require.Equal(t, own, carried, "it is built upon one that is whole, not upon one that is built upon another")
	}
	require.Empty(t, s[3].Packs, "all of it is small")
	require.Equal(t, []string{s[0].Work}, s[4].Packs)
}

// What two placements hold alike is stored once.
func TestEqualPlacementsShareABundle(t *testing.T) {
	h := open(t, door.Options{})
	h.apply(shopNamespace, settings, web, strings.Replace(web, "name: web", "name: other", 1))
	require.Equal(t, h.snapshots("web")[0].Work, h.snapshots("other")[0].Work)
	stored, err := h.store.Content.Stored(bustest.Context(t))
	require.NoError(t, err)
	require.Len(t, stored, 3, "two objects and a bundle of both")
}

// An object whose body was lost keeps nobody from changing others: the bundle lacks it until it is applied again.
func TestALostBodyKeepsNothingElseFromBeingPlaced(t *testing.T) {
	h := open(t, door.Options{})
	h.apply(shopNamespace, settings)
	heads := store.TableOf[api.Spec](h.store.State, subjects.ObjectSpecs)
	head, _, found := heads.Get(content.Key(api.ObjectRef{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "settings"}))
	require.True(t, found)
	stream, err := h.store.Conn.JS.Stream(bustest.Context(t), h.store.Conn.Fleet.BucketStream(subjects.Content))
	require.NoError(t, err)
	lost := h.store.Conn.Fleet.BucketSubject(subjects.Content, h.store.Keys.Piece(head.Digest).At)
	require.NoError(t, stream.Purge(bustest.Context(t), jetstream.WithPurgeSubject(lost)))
	h.apply(web)
	s := h.snapshots("web")[0]
	bundle, err := h.store.Content.Raw(bustest.Context(t), h.store.Keys.Piece(s.Work).At)
	require.NoError(t, err)
	_, bodies, err := seal.Unbundle(bundle)
	require.NoError(t, err)
	require.Len(t, bodies, 2)
	require.NotEmpty(t, bodies[0])
	require.Empty(t, bodies[1])
}

// What does not fit into one message lies in as few as hold it.
func TestALargePlacementIsSplit(t *testing.T) {
	h := open(t, door.Options{})
	h.apply(shopNamespace)
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		h.apply(config(name, bustest.Noise(660<<10))) // 880 KiB of text
	}
	h.apply(web)
	s := h.snapshots("web")[0]
	work, small := h.bundled(&s)
	require.Len(t, s.Packs, 2, "what is left does not lie in the work, so that others are built upon it")
	require.Less(t, small, 64<<10)
	packs := map[int][][]byte{}
	for i, digest := range append([]string{s.Work}, s.Packs...) {
		bundle, err := h.store.Content.Raw(bustest.Context(t), h.store.Keys.Piece(digest).At)
		require.NoError(t, err)
		_, packs[i], err = seal.Unbundle(bundle)
		require.NoError(t, err)
	}
	require.Len(t, work.Manifests, 6)
	for _, m := range work.Manifests {
		_, err := seal.Open(m.Piece, packs[m.Pack][m.Frame], bus.MaxContent)
		require.NoError(t, err, m.ObjectRef)
	}
}

// whole holds that every body of a snapshot is found where its work says.
func (h *house) whole(s *api.Snapshot) {
	h.t.Helper()
	work, _ := h.bundled(s)
	packs := [][][]byte{}
	for _, digest := range append([]string{s.Work}, s.Packs...) {
		bundle, err := h.store.Content.Raw(bustest.Context(h.t), h.store.Keys.Piece(digest).At)
		require.NoError(h.t, err)
		_, bodies, err := seal.Unbundle(bundle)
		require.NoError(h.t, err)
		packs = append(packs, bodies)
	}
	require.Len(h.t, work.Manifests, len(s.Manifests))
	for i, m := range work.Manifests {
		require.Equal(h.t, s.Manifests[i], m.Manifest)
		_, err := seal.Open(m.Piece, packs[m.Pack][m.Frame], bus.MaxContent)
		require.NoError(h.t, err, m.ObjectRef)
	}
}
