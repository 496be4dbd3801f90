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

// What one request has laid out anew is bounded, before anything of it is read, where whoever asks can ask for less (H55).
func TestWhatARequestHasLaidOutIsBounded(t *testing.T) {
	keys := bustest.Keys()
	const each = 2 << 20
	layout := func(placements int, bounded bool) error {
		l := &Layout{Stacks: NewStacks(nil), Bounded: bounded, Plan: content.Plan{Keys: keys, Limit: 4 << 20, Size: func(api.Manifest) int { return each }}}
		for i := range placements {
			s := snapshot(t, keys, fmt.Sprint("a", i), fmt.Sprint("b", i))
			s.Placement = fmt.Sprint("p", i)
			l.Add(s, nil)
		}
		return l.Lay(t.Context(), nil)
	}
	const fits = mostLaid / (2 * each)
	require.NoError(t, layout(fits, true))
	failure := &api.Failure{}
	require.ErrorAs(t, layout(fits+1, true), &failure)
	require.Equal(t, api.CodeTooLarge, failure.Code)
	require.Equal(t, "260 MiB of objects would be laid out anew for the placements that select them, at most 256 MiB in one request: "+
		"apply fewer placements or documents at a time, or select with several placements what one selects", failure.Message)
	require.NoError(t, layout(fits+1, false), "one object may change, whoever selects it")
}

// A new object that several placements select is sealed once for all of them, also where it is most of what they hold.
func TestWhatIsNewIsLaidOutOnce(t *testing.T) {
	keys := bustest.Keys()
	l := &Layout{Stacks: NewStacks(nil), Plan: content.Plan{Keys: keys, Limit: 4 << 20, Size: func(m api.Manifest) int {
		if m.Name == "c0" {
			return 1 << 20
		}
		return 1 << 10
	}}}
	large := []byte("large")
	for i := range 5 {
		s := snapshot(t, keys, string(large), fmt.Sprint("own ", i))
		s.Placement = fmt.Sprint("p", i)
		l.Add(s, nil)
	}
	require.NoError(t, l.Lay(t.Context(), map[string][]byte{keys.Digest(large): large}))
	bytes := 0
	for i := range l.Bundles() {
		bytes += l.carries(&l.Bundles()[i])
	}
	require.Equal(t, 1<<20+5*1<<10, bytes)
}

// What works name is remembered while it is asked for, and of no more bodies than twice those of the largest change.
func TestStacksAreBounded(t *testing.T) {
	s := NewStacks(nil)
	bodies := make([]body, mostKnown/4)
	for i := range 100 {
		s.note(fmt.Sprint("work ", i), []pack{{"pack", len(bodies), bodies}})
		require.True(t, s.knows("work 0"), "it is asked for")
		require.LessOrEqual(t, len(s.by)+len(s.before), 12)
	}
	require.False(t, s.knows("work 50"))
	require.True(t, s.knows("work 99"))
}
