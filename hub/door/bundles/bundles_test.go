package bundles

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/core/content"
	"flotilla/core/seal"
)

// snapshot holds ConfigMaps of these texts.
func snapshot(t *testing.T, keys *seal.Keyring, texts ...string) *api.Snapshot {
	t.Helper()
	s := &api.Snapshot{}
	for i, text := range texts {
		s.Manifests = append(s.Manifests, api.Manifest{
			ObjectRef: api.ObjectRef{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: fmt.Sprint("c", i)}, Digest: keys.Digest([]byte(text)),
		})
	}
	return s
}

// What many placements select is laid out once, and like what each of them would get alone.
func TestWhatIsSelectedAlikeIsLaidOutOnce(t *testing.T) {
	keys := bustest.Keys()
	layout := func() *Layout {
		return &Layout{Stacks: NewStacks(nil), Plan: content.Plan{Keys: keys, Limit: 350 << 10, Size: func(api.Manifest) int { return 100 << 10 }}}
	}
	lay := func(l *Layout, s *api.Snapshot, kept []store.Entry[api.Snapshot]) error {
		l.waiting = nil
		l.Add(s, kept)
		return l.Lay(t.Context(), nil)
	}
	alone := func(s *api.Snapshot, kept ...store.Entry[api.Snapshot]) *api.Snapshot {
		t.Helper()
		one := *s
		one.Work, one.Packs = "", nil
		require.NoError(t, lay(layout(), &one, kept))
		return &one
	}
	entry := func(s *api.Snapshot) store.Entry[api.Snapshot] { return store.Entry[api.Snapshot]{Value: *s} }

	l := layout()
	var first *api.Snapshot
	for range 5 {
		s := snapshot(t, keys, "a", "b", "c", "d", "e")
		require.NoError(t, lay(l, s, nil))
		require.Equal(t, alone(s), s)
		require.NotEmpty(t, s.Packs, "it does not fit into one message")
		if first == nil {
			first = s
		}
		require.Equal(t, first, s)
		require.Len(t, l.Bundles(), 1+len(s.Packs))
	}
	first.Packs[0] = "changed by its placement"
	again := snapshot(t, keys, "a", "b", "c", "d", "e")
	require.NoError(t, lay(l, again, nil))
	require.Equal(t, alone(again), again)

	before := alone(snapshot(t, keys, "a", "b"))
	made := len(l.Bundles())
	upon := snapshot(t, keys, "a", "b", "f")
	require.NoError(t, lay(l, upon, []store.Entry[api.Snapshot]{entry(before)}))
	require.Equal(t, alone(upon, entry(before)), upon)
	require.Len(t, upon.Packs, 2)
	require.Equal(t, before.Work, upon.Packs[0], "it is built upon what the placement had before, and what is new is much")
	require.Len(t, l.Bundles(), made+2)
	apart := snapshot(t, keys, "a", "b", "f")
	require.NoError(t, lay(l, apart, nil))
	require.Equal(t, alone(apart), apart)
	require.NotEqual(t, upon.Packs, apart.Packs, "who had nothing before has nothing to build upon")

	made = len(l.Bundles())
	same := snapshot(t, keys, "a", "b")
	require.NoError(t, lay(l, same, []store.Entry[api.Snapshot]{entry(before)}))
	require.Equal(t, before.Work, same.Work, "the placement held the same before")
	require.Len(t, l.Bundles(), made)
}
