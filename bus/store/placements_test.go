package store_test

import (
	"fmt"
	"testing"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/store"
	"flotilla/bus/watch"
	"flotilla/core/api"
	"flotilla/subjects"

	"github.com/stretchr/testify/require"
)

// Every member of a large fleet is asked for, as happens at a start and when a region is lost.
func TestPlacementsOfAMemberAreFound(t *testing.T) {
	leader := bustest.Start(t).Lead(t)
	bound := store.Bound(leader.State.As(subjects.Roller))
	const members, placements = 2000, 50
	name := func(i int) string { return fmt.Sprintf("member-%05d", i) }
	bindings := make([]api.Binding, members)
	for i := range bindings {
		bindings[i] = api.Binding{Member: name(i), Policy: "p"}
	}
	for i := range placements {
		key := subjects.Schedules.Key(fmt.Sprintf("p%03d", i))
		bustest.Write(t, leader, store.Put(key, &api.Schedule{Header: api.NewHeader(api.KindSchedule), UID: "u", Bindings: bindings[i:]}, 0))
	}
	for _, x := range []*store.Inverse{bound, store.Bound(leader.State.As(subjects.Roller))} { // also one that is made later
		require.Equal(t, []string{"p000", "p001"}, x.Of(name(1)))
		for i := range members {
			require.Len(t, x.Of(name(i)), min(i+1, placements), name(i))
		}
	}
}

func TestPlacementsReleasedToAMemberAreFollowed(t *testing.T) {
	leader := bustest.Start(t).Lead(t)
	released := store.Released(leader.State.As(subjects.Roller))
	release := func(members ...string) *api.Release {
		r := &api.Release{Header: api.NewHeader(api.KindRelease)}
		for _, member := range members {
			r.Entries = append(r.Entries, api.ReleaseEntry{Member: member})
		}
		return r
	}
	overwrite := func(value any) {
		t.Helper()
		bustest.Write(t, leader, store.Put("release.web", value, leader.State.Revision("release.web")))
	}
	overwrite(release("berlin", "oslo"))
	overwrite(release("berlin"))
	require.Equal(t, []string{"web"}, released.Of("berlin"))
	require.Empty(t, released.Of("oslo"))
	overwrite("not a release")
	require.Equal(t, []string{"web"}, released.Of("berlin"), "what cannot be read is not gone")
	bustest.Write(t, leader, store.Delete("release.web", leader.State.Revision("release.web")))
	require.Empty(t, released.Of("berlin"))
}

func TestTheLatestSnapshotIsThatOfThePlacementAsItIs(t *testing.T) {
	leader := bustest.Start(t).Lead(t)
	snapshots := store.TableOf[api.Snapshot](leader.State, subjects.Snapshots)
	for name, uid := range map[string]string{"web.9": "u2", "web.10": "u2", "web.11": "u1"} {
		bustest.Write(t, leader, store.Put(snapshots.Key(name), api.Snapshot{UID: uid, Work: name}, 0))
	}
	for uid, want := range map[string]string{"u1": "web.11", "u2": "web.10"} {
		latest, err := store.LatestSnapshot(snapshots, "web", uid)
		require.NoError(t, err)
		require.Equal(t, want, latest.Work)
	}
	for _, none := range [][2]string{{"web", "u3"}, {"api", "u1"}} {
		latest, err := store.LatestSnapshot(snapshots, none[0], none[1])
		require.NoError(t, err)
		require.Nil(t, latest)
	}
	bustest.Write(t, leader, store.Put(snapshots.Key("web.12"), "not a snapshot", 0))
	_, err := store.LatestSnapshot(snapshots, "web", "u3")
	require.ErrorIs(t, err, bus.ErrBroken, "it may be the one")
}

func TestViewsTellNews(t *testing.T) {
	var views watch.Views[string]
	require.True(t, views.News("berlin", "Ready", true))
	require.False(t, views.News("berlin", "Ready", true))
	require.True(t, views.News("oslo", "Ready", true))
	require.True(t, views.News("berlin", "Unknown", true))
	require.True(t, views.News("berlin", "", false))
	require.True(t, views.News("berlin", "", false), "while it cannot be read all is news")
	require.True(t, views.News("berlin", "Unknown", true), "and so is what it is then")
	require.False(t, views.News("berlin", "Unknown", true))
}
