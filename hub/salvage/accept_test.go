package salvage_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/core/verdict"
	"flotilla/subjects"
)

// house has two placements on two members, with all that was decided about them.
func house(t *testing.T) *bustest.Server {
	t.Helper()
	server := bustest.Start(t)
	leader := server.Lead(t)
	put := func(family subjects.Family, name string, value any) {
		t.Helper()
		_, err := leader.Writer.Write(bustest.Context(t), store.Put(family.Key(name), value, 0))
		require.NoError(t, err)
	}
	for _, name := range []string{"berlin", "oslo"} {
		put(subjects.MemberSpecs, name, api.Spec{Object: api.ObjectRef{Kind: api.KindMemberCluster, Name: name}, UID: "m", Body: json.RawMessage(`{}`)})
		put(subjects.Members, name, api.MemberRecord{Name: name, UID: "m", State: api.MemberReady})
	}
	for _, name := range []string{"shop", "web"} {
		put(subjects.PlacementSpecs, name, api.Spec{Object: api.ObjectRef{Kind: api.KindClusterResourcePlacement, Name: name}, UID: "u", Body: json.RawMessage(`{}`)})
		put(subjects.Schedules, name, api.Schedule{Placement: name, UID: "u", Bindings: []api.Binding{{Member: "berlin"}, {Member: "oslo"}}})
		put(subjects.Releases, name, api.Release{Placement: name, Entries: []api.ReleaseEntry{{Member: "berlin", UID: "u"}, {Member: "oslo", UID: "u"}}})
		put(subjects.Snapshots, subjects.SnapshotName(name, 1), api.Snapshot{Placement: name, UID: "u", Index: 1})
		put(subjects.Verdicts, name, verdict.Verdicts{})
		put(subjects.Statuses, name, api.PlacementStatus{})
	}
	return server
}

// accepted takes records of a copy of a house away as a damaged file does, accepts the loss, and returns what is left.
func accepted(t *testing.T, server *bustest.Server, keys ...string) *store.State {
	t.Helper()
	copied := server.Copied(t, func(string) {})
	c := copied.Hub(t)
	stream, err := c.JS.Stream(t.Context(), c.Fleet.BucketStream(subjects.State))
	require.NoError(t, err)
	for _, key := range keys {
		require.NoError(t, stream.Purge(t.Context(), jetstream.WithPurgeSubject(c.Fleet.BucketSubject(subjects.State, key))))
	}
	leader := bustest.Lead(t, c, "hub-test", store.LeadOptions{})
	require.NotNil(t, leader.Damage)
	goOn(t, copied, leader)
	left := store.NewState(copied.Hub(t))
	watching, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	stopped := make(chan struct{})
	go func() { defer close(stopped); left.Run(watching) }()
	t.Cleanup(func() { stop(); <-stopped })
	require.NoError(t, left.WaitSynced(bustest.Context(t)))
	return left
}

// on lists the members of a placement's schedule and release.
func on(state *store.State, placement string) (scheduled, released []string) {
	schedule, _, _ := store.TableOf[api.Schedule](state, subjects.Schedules).Get(placement)
	for i := range schedule.Bindings {
		scheduled = append(scheduled, schedule.Bindings[i].Member)
	}
	release, _, _ := store.TableOf[api.Release](state, subjects.Releases).Get(placement)
	for i := range release.Entries {
		released = append(released, release.Entries[i].Member)
	}
	return scheduled, released
}

// A member that is gone is in no schedule and no release when a hub leads again: whoever is admitted under its name
// keeps what it runs, because nothing says that it is to give it up, and nothing is moved.
func TestAMemberThatIsGoneIsOfNoPlacement(t *testing.T) {
	left := accepted(t, house(t), subjects.MemberSpecs.Key("oslo"))
	for _, placement := range []string{"shop", "web"} {
		scheduled, released := on(left, placement)
		require.Equal(t, []string{"berlin"}, scheduled, placement)
		require.Equal(t, []string{"berlin"}, released, placement)
		require.NotZero(t, left.Revision(subjects.Snapshots.Key(subjects.SnapshotName(placement, 1))), placement)
	}
}

// A release without its placement would have everything withdrawn: it goes, with all that was decided, and what others
// have stays as it was.
func TestAPlacementThatIsGoneLeavesNothingThatWithdrawsIt(t *testing.T) {
	server := house(t)
	before := accepted(t, server, subjects.Verdicts.Key("web"))
	left := accepted(t, server, subjects.PlacementSpecs.Key("shop"))
	for _, key := range before.Keys("") {
		if slices.Contains([]string{subjects.TermKey, subjects.TallyKey, subjects.LayoutKey}, key) {
			continue
		}
		of := subjects.RecordName(key)
		gone := slices.Contains([]string{"placement shop", "schedule of shop", "release of shop", "status of shop", "verdicts of shop", "snapshot shop.1"}, of)
		require.Equal(t, !gone, left.Revision(key) != 0, "%s, %s", key, of)
	}
	scheduled, released := on(left, "web")
	require.Equal(t, []string{"berlin", "oslo"}, scheduled)
	require.Equal(t, []string{"berlin", "oslo"}, released)
}
