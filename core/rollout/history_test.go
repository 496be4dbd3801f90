package rollout

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
)

// desk keeps the snapshots of a placement as the door does.
type desk struct {
	kept     History
	selected string // the content, "" for selectors that cannot be followed
	limit    int
	running  int64 // the index of a snapshot that a member runs
}

func (d *desk) selection() *api.Snapshot {
	if d.selected == "" {
		return &api.Snapshot{Error: "no"}
	}
	return &api.Snapshot{Work: d.selected, Manifests: []api.Manifest{{Digest: d.selected}}}
}

// put makes a snapshot the newest and forgets the oldest that nobody runs.
func (d *desk) put(next *api.Snapshot) {
	if next == nil {
		return
	}
	made := *next
	made.Index = 1
	if last := d.kept.Newest(); last != nil {
		made.Index = last.Index + 1
	}
	d.kept = append(d.kept, &made)
	for surplus := len(d.kept) - d.limit; surplus > 0; surplus-- {
		if d.kept[surplus-1].Index != d.running {
			d.kept = slices.Delete(slices.Clone(d.kept), surplus-1, surplus)
		}
	}
}

func (d *desk) choose(content string) {
	d.selected = content
	next, _ := d.kept.Follow(d.selection())
	d.put(next)
}

func (d *desk) undo(t *testing.T, revision int64) (done bool) {
	t.Helper()
	next, err := d.kept.Undo(d.selection(), revision)
	d.put(next)
	return err == nil
}

// shows is what members are to have, and whether they stay with it.
func (d *desk) shows() string {
	last := d.kept.Newest()
	return fmt.Sprint(last.Work, last.Error, last.Pinned())
}

func TestHistoryOfUndos(t *testing.T) {
	d := &desk{limit: 10}
	require.False(t, d.undo(t, 0))
	d.choose("a")
	require.False(t, d.undo(t, 0), "there is nothing before the first")
	d.choose("b")
	require.True(t, d.undo(t, 0))
	require.Equal(t, "atrue", d.shows())
	require.Equal(t, int64(1), d.kept.Newest().Undo.Of)
	d.choose("b")
	require.Len(t, d.kept, 3, "what is selected did not change")
	d.choose("c")
	require.Equal(t, "cfalse", d.shows(), "it did")
	require.True(t, d.undo(t, 2))
	require.Equal(t, "btrue", d.shows())
	require.True(t, d.undo(t, 2))
	require.Len(t, d.kept, 5, "members have that already")
	d.put(d.kept.Resume(d.selection()))
	require.Equal(t, "cfalse", d.shows())
	require.Nil(t, d.kept.Resume(d.selection()), "nothing is pinned")
	d.undo(t, 1)
	d.choose("a")
	require.Equal(t, "afalse", d.shows(), "what members have is selected now")
}

func TestUndosThatCannotBe(t *testing.T) {
	d := &desk{limit: 10}
	for _, content := range []string{"a", "", "b"} {
		d.choose(content)
	}
	for revision, want := range map[int64]string{
		2:  "revision 2 holds nothing, for its selectors could not be followed (no), expected one of 1, 3",
		7:  "revision 7 is not kept, expected one of 1, 3",
		-1: "revision -1 is not kept, expected one of 1, 3",
	} {
		_, err := d.kept.Undo(d.selection(), revision)
		require.EqualError(t, err, want)
	}
	d.undo(t, 0)
	require.Equal(t, "atrue", d.shows(), "what could not be followed is passed over")
	d = &desk{limit: 10}
	d.choose("")
	_, err := d.kept.Undo(d.selection(), 1)
	require.EqualError(t, err, "revision 1 holds nothing, for its selectors could not be followed (no), expected one, and none is kept")
	d.choose("a")
	d.choose("")
	d.undo(t, 0)
	require.Equal(t, "atrue", d.shows(), "members may go back to what could be selected")
}

// Whatever was changed, undone and resumed before: an undo, and another one, is back where it began; deciding twice
// changes nothing; members follow what is selected unless they are pinned; and what a member runs is kept.
func TestUndoTwiceIsBackWhereItBegan(t *testing.T) {
	twice := 0
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 3))
		d := &desk{limit: 2 + rng.IntN(4)}
		d.choose("a")
		for range 60 {
			switch rng.IntN(6) {
			case 0, 1:
				d.choose([]string{"a", "b", "c", "d", ""}[rng.IntN(5)])
			case 2:
				d.undo(t, 0)
			case 3:
				d.undo(t, d.kept[rng.IntN(len(d.kept))].Index)
			case 4:
				d.put(d.kept.Resume(d.selection()))
			case 5:
				d.running = d.kept[rng.IntN(len(d.kept))].Index
			}
			require.True(t, d.running == 0 || slices.ContainsFunc(d.kept, func(s *api.Snapshot) bool { return s.Index == d.running }))
			next, _ := d.kept.Follow(d.selection())
			require.Nil(t, next)
			require.Equal(t, d.kept.Newest().Pinned(), !alike(d.kept.Newest(), d.selection()))
			tried := &desk{kept: slices.Clone(d.kept), selected: d.selected, limit: d.limit, running: d.running}
			before := tried.shows()
			if tried.kept.Newest().Error == "" && tried.undo(t, 0) {
				require.NotEqual(t, before, tried.shows())
				require.True(t, tried.undo(t, 0))
				require.Equal(t, before, tried.shows(), "seed %d", seed)
				twice++
			}
		}
	}
	require.Greater(t, twice, 5000)
}

// The first revision that is kept is compared with none; each later one with the one before it.
func TestRevisionsTellWhatBecameOfObjects(t *testing.T) {
	ref := func(name string) api.ObjectRef {
		return api.ObjectRef{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: name}
	}
	manifest := func(name, digest string) api.Manifest { return api.Manifest{ObjectRef: ref(name), Digest: digest} }
	kept := History{
		{Index: 4, By: "anna", Manifests: []api.Manifest{manifest("a", "1"), manifest("b", "1"), manifest("c", "1"), manifest("d", "1")}},
		{Index: 5, By: "olaf", Manifests: []api.Manifest{manifest("a", "1"), manifest("b", "2"), manifest("e", "1")}},
		{Index: 6, Error: "no such kind"},
	}
	release := &api.Release{Entries: []api.ReleaseEntry{
		{Member: "berlin", Snapshot: 4}, {Member: "lima", Snapshot: 5}, {Member: "oslo", Snapshot: 5}, {Member: "paris", Snapshot: 5, Withdrawn: true},
	}}
	require.Equal(t, []api.Revision{
		{Revision: 4, By: "anna", Members: 1, Objects: 4},
		{
			Revision: 5, By: "olaf", Members: 2, Objects: 3,
			Added: []api.ObjectRef{ref("e")}, Changed: []api.ObjectRef{ref("b")}, Removed: []api.ObjectRef{ref("c"), ref("d")},
		},
		{Revision: 6, Error: "no such kind"},
	}, kept.Revisions(release))
}
