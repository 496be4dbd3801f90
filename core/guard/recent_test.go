package guard

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
)

const a, b, c = "|ConfigMap/web/a", "|ConfigMap/web/b", "|ConfigMap/web/c"

// kept are the snapshots that are still there.
func kept(index int64) *api.Snapshot {
	names, found := map[int64][]string{2: {"a"}, 3: {"b"}, 4: {"a", "b", "c"}}[index]
	if !found {
		return nil
	}
	s := &api.Snapshot{UID: "u"}
	for _, name := range names {
		s.Manifests = append(s.Manifests, api.Manifest{ObjectRef: api.ObjectRef{APIVersion: "v1", Kind: "ConfigMap", Namespace: "web", Name: name}})
	}
	return s
}

func taken(from, to int64, ago time.Duration) api.Taken {
	return api.Taken{Member: "berlin", UID: "u", From: from, To: to, Whole: to == 0, At: metav1.NewTime(noon.Add(-ago))}
}

// entry gives berlin a snapshot, which it came to hold.
func entry(snapshot int64) api.ReleaseEntry {
	return api.ReleaseEntry{Member: "berlin", UID: "u", Snapshot: snapshot}
}

// What was taken away counts for ten minutes, and until it is confirmed; what came back does not, once it is there.
func TestRecent(t *testing.T) {
	gone := []api.Gone{
		{UID: "u", From: 1, Objects: []string{a, b, c}},
		{UID: "u", From: 1, To: 2, Objects: []string{b, c}},
		{UID: "u", From: 2, To: 3, Objects: []string{a}},
		{UID: "u", From: 4, To: 2, Objects: []string{b, c}},
	}
	withdrawn, failing, former := entry(4), entry(4), entry(4)
	withdrawn.Withdrawn, failing.Generation, former.UID = true, 7, "former"
	for _, row := range []struct {
		what   string
		entry  *api.ReleaseEntry
		taken  []api.Taken
		left   int // of what was taken
		lost   int
		wholes int
	}{
		{"nothing", nil, nil, 0, 0, 0},
		{"given up just now", nil, []api.Taken{taken(1, 0, Window-time.Second)}, 1, 3, 1},
		{"given up long ago", nil, []api.Taken{taken(1, 0, Window)}, 0, 0, 0},
		{"given up long ago, and not confirmed", &withdrawn, []api.Taken{taken(1, 0, time.Hour)}, 1, 3, 1},
		{"given back", new(entry(4)), []api.Taken{taken(1, 0, 0)}, 0, 0, 0},
		{"given back, and not there", &failing, []api.Taken{taken(1, 0, 0)}, 1, 3, 0},
		{"given back by a placement whose snapshot that is not", &former, []api.Taken{taken(1, 0, 0)}, 1, 3, 0},
		{"given back in part", new(entry(2)), []api.Taken{taken(1, 0, 0)}, 1, 2, 0},
		{"pruned", new(entry(2)), []api.Taken{taken(1, 2, 0)}, 1, 2, 0},
		{"pruned twice, one of it given back", new(entry(3)), []api.Taken{taken(1, 2, 0), taken(2, 3, 0)}, 2, 2, 0},
		{"pruned, given back and pruned again", new(entry(2)), []api.Taken{taken(1, 2, 0), taken(4, 2, 0)}, 1, 2, 0},
		{"pruned twice within a second", new(entry(2)), []api.Taken{taken(1, 2, 0), taken(1, 2, 0)}, 1, 2, 0},
		{"pruned, given back and given up", nil, []api.Taken{taken(1, 2, 0), taken(1, 0, 0)}, 1, 3, 1},
		{"given up twice", nil, []api.Taken{taken(1, 0, time.Minute), taken(1, 0, 0)}, 1, 3, 1},
		{"what it has now is not known", new(entry(9)), []api.Taken{taken(1, 2, 0)}, 1, 2, 0},
		{"what it lost is not known", new(entry(4)), []api.Taken{taken(8, 9, 0)}, 1, 1, 0},
	} {
		t.Run(row.what, func(t *testing.T) {
			release := &api.Release{Taken: row.taken, Gone: gone}
			if row.entry != nil {
				release.Entries = []api.ReleaseEntry{*row.entry}
			}
			r := RecentOf(release, Known{kept, func(e *api.ReleaseEntry) bool { return e.Generation == 0 }}, noon)
			left, objects := r.Left()
			require.Len(t, left, row.left)
			require.Equal(t, row.lost, r.Lost("berlin"))
			require.Zero(t, r.Lost("oslo"))
			require.Equal(t, row.wholes, r.Wholes())
			require.LessOrEqual(t, len(objects), row.left)
			again := RecentOf(&api.Release{Entries: release.Entries, Taken: left, Gone: objects}, r.known, noon)
			require.Equal(t, row.lost, again.Lost("berlin"), "what is left comes to the same")
			require.Equal(t, row.wholes, again.Wholes())
		})
	}
	require.Zero(t, RecentOf(nil, Known{}, noon).Lost("berlin"))
}

// A step counts with what was taken before it, each object once, without what it gives.
func TestWhatAStepComesTo(t *testing.T) {
	release := &api.Release{
		Entries: []api.ReleaseEntry{entry(2)}, Taken: []api.Taken{taken(1, 2, 0)},
		Gone: []api.Gone{{UID: "u", From: 1, To: 2, Objects: []string{b, c}}},
	}
	r := RecentOf(release, Known{kept, func(*api.ReleaseEntry) bool { return true }}, noon)
	require.Equal(t, 3, r.With("berlin", "2>3", []string{a}, nil))
	require.Equal(t, 2, r.With("berlin", "2>4", []string{a}, map[string]bool{b: true}))
	require.Equal(t, 2, r.With("berlin", "2>5", []string{b}, nil))
	require.Equal(t, 3, r.With("berlin", "2>3", nil, nil), "what has the same name is not counted again")
	require.Equal(t, 1, r.With("oslo", "2>3", []string{a}, nil))
}

func TestWhatIsApplied(t *testing.T) {
	e := &api.ReleaseEntry{UID: "u", Generation: 3}
	require.False(t, Applied(e, nil))
	for _, row := range []struct {
		result api.PlacementResult
		want   bool
	}{
		{api.PlacementResult{UID: "u", Generation: 3, Applied: "True"}, true},
		{api.PlacementResult{UID: "u", Generation: 3, Applied: "False"}, false},
		{api.PlacementResult{UID: "u", Generation: 2, Applied: "True"}, false},
		{api.PlacementResult{UID: "v", Generation: 3, Applied: "True"}, false},
	} {
		require.Equal(t, row.want, Applied(e, &row.result))
	}
}
