package placed_test

import (
	"fmt"
	"testing"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/placed"
	"flotilla/bus/store"
	"flotilla/bus/watch"
	"flotilla/core/api"
	"flotilla/subjects"

	"github.com/stretchr/testify/require"
)

// Every member of a large fleet is asked for, as happens at a start and when a region is lost.
func TestPlacementsOfAMemberAreFound(t *testing.T) {
	leader := bustest.Start(t).Lead(t)
	bound := placed.Bound(leader.State.As(subjects.Roller))
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
	for _, x := range []*store.Inverse{bound, placed.Bound(leader.State.As(subjects.Roller))} { // also one that is made later
		require.Equal(t, []string{"p000", "p001"}, x.Of(name(1)))
		for i := range members {
			require.Len(t, x.Of(name(i)), min(i+1, placements), name(i))
		}
	}
}

func TestPlacementsReleasedToAMemberAreFollowed(t *testing.T) {
	leader := bustest.Start(t).Lead(t)
	released := placed.Released(leader.State.As(subjects.Roller))
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
		latest, err := placed.LatestSnapshot(snapshots, "web", uid)
		require.NoError(t, err)
		require.Equal(t, want, latest.Work)
	}
	for _, none := range [][2]string{{"web", "u3"}, {"api", "u1"}} {
		latest, err := placed.LatestSnapshot(snapshots, none[0], none[1])
		require.NoError(t, err)
		require.Nil(t, latest)
	}
	bustest.Write(t, leader, store.Put(snapshots.Key("web.12"), "not a snapshot", 0))
	_, err := placed.LatestSnapshot(snapshots, "web", "u3")
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

// Which runs are for a placement is known without a look at all others: a fleet keeps thousands that are over.
func TestStagedRunsOfAPlacement(t *testing.T) {
	leader := bustest.Start(t).Lead(t)
	runs := placed.StagedRunsOf(leader.State.As(subjects.Roller))
	woken := make(chan string, 10)
	runs.OnChange(func(placement string) { woken <- placement })
	run := func(name, placement, uid string, state api.UpdateState) store.Op {
		status := &api.UpdateRunStatus{Header: api.NewHeader(api.KindRunStatus), Run: name, Status: api.UpdateStatus{State: state}}
		if placement != "" {
			status.Content = &api.ContentRun{Placement: placement, PlacementUID: uid}
		}
		return store.Put(subjects.Runs.Key(name), status, 0)
	}
	bustest.Write(t, leader, run("old", "web", "u1", api.StateCompleted), run("former", "web", "u0", api.StateRunning),
		run("now", "web", "u1", api.StateRunning), run("next", "web", "u1", api.StateNotStarted), run("spring", "", "", api.StateRunning),
		run("other", "api", "u2", api.StateStopped))
	names := func(placement string) (out []string) {
		for _, r := range runs.Of(placement) {
			out = append(out, r.Run)
		}
		return out
	}
	require.Equal(t, []string{"former", "next", "now"}, names("web"))
	require.Equal(t, []string{"other"}, names("api"))
	require.Equal(t, "now", runs.UnderWay("web", "u1").Run)
	require.Nil(t, runs.UnderWay("api", "u2"))
	var all []string
	for range 5 {
		all = append(all, <-woken)
	}
	require.ElementsMatch(t, []string{"web", "web", "web", "web", "api"}, all)

	status, revision, _ := store.Reads[api.UpdateRunStatus](leader.State.As(subjects.Roller), subjects.Runs).Get("now")
	status.Status.State = api.StateCompleted
	bustest.Write(t, leader, store.Put(subjects.Runs.Key("now"), &status, revision))
	require.Nil(t, runs.UnderWay("web", "u1"))
	require.Equal(t, []string{"former", "next"}, names("web"))
}
