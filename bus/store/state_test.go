package store_test

import (
	"fmt"
	"slices"
	"testing"

	"flotilla/bus/bustest"
	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/subjects"

	"github.com/stretchr/testify/require"
)

func TestOwnWritesAreInTheCacheAtOnce(t *testing.T) {
	leader := bustest.Start(t).Lead(t)
	table := store.TableOf[api.Schedule](leader.State, subjects.Schedules)
	key := table.Key("ns/web")

	first := bustest.Write(t, leader, store.Put(key, bustest.Schedule("ns/web", 1), 0))
	value, revision, ok := table.Get("ns/web")
	require.True(t, ok)
	require.Equal(t, first[0], revision)
	require.Equal(t, bustest.Schedule("ns/web", 1), value)

	second := bustest.Write(t, leader, store.Put(key, bustest.Schedule("ns/web", 2), first[0]))
	require.Greater(t, second[0], first[0])
	bustest.Write(t, leader, store.Delete(key, second[0]))
	_, revision, ok = table.Get("ns/web")
	require.False(t, ok)
	require.Zero(t, revision)
	bustest.Write(t, leader, store.Put(key, bustest.Schedule("ns/web", 3), 0))
}

func TestAnotherWatcherSeesTheSame(t *testing.T) {
	server := bustest.Start(t)
	leader := server.Lead(t)
	other := store.NewState(server.Hub(t))
	table := store.TableOf[api.Schedule](other, subjects.Schedules)
	bustest.InBackground(t, other.Run)
	require.NoError(t, other.WaitSynced(bustest.Context(t)))

	bustest.Write(t, leader, store.Put("schedule.web", bustest.Schedule("web", 7), 0))
	bustest.Eventually(t, func() error {
		if v, _, ok := table.Get("web"); !ok || v.Generation != 7 {
			return fmt.Errorf("generation %d, there %v", v.Generation, ok)
		}
		return nil
	})
}

// Also where the watcher brings a write before its acknowledgement comes, which is so of some of many.
func TestWhatWasWrittenAsAValueIsNotReadBack(t *testing.T) {
	leader := bustest.Start(t).Lead(t)
	records := store.Writes[api.Release](leader.State.As(subjects.Roller), subjects.Releases)
	written := func(step int64) *api.Release {
		return &api.Release{Header: api.NewHeader(api.KindRelease), Step: step, Entries: []api.ReleaseEntry{{Member: "berlin"}}}
	}
	const writes = 200
	for step := range int64(writes) {
		value := written(step)
		bustest.Write(t, leader, records.Share("web", value, records.Revision("web")))
		held, _, found := records.Get("web")
		require.True(t, found)
		require.Equal(t, *written(step), held)
		require.Same(t, &value.Entries[0], &held.Entries[0], "release %d was read back", step)
	}
	value := written(writes)
	bustest.Write(t, leader, records.Put("web", value, records.Revision("web")))
	held, _, _ := records.Get("web")
	require.NotSame(t, &value.Entries[0], &held.Entries[0], "whoever puts may go on with the value")
	require.NoError(t, leader.State.Relist(bustest.Context(t)))
	bustest.Write(t, leader, records.Delete("web", records.Revision("web")))
	_, _, found := records.Get("web")
	require.False(t, found)
}

// Whoever wrote the records weighs them as somebody does who reads what is stored: as what they were encoded from and as JSON, packed
// or not.
func TestEveryHubWeighsTheSame(t *testing.T) {
	server := bustest.Start(t)
	leader := server.Lead(t)
	releases := store.Writes[api.Release](leader.State.As(subjects.Roller), subjects.Releases)
	long := api.Release{Header: api.NewHeader(api.KindRelease), Placement: "long"}
	for i := range 1000 {
		long.Entries = append(long.Entries, api.ReleaseEntry{Member: fmt.Sprint("member-", i)})
	}
	written := bustest.Write(t, leader, releases.Share("long", &long, 0), releases.Put("long too", &long, 0), store.Put("schedule.web", bustest.Schedule("web", 1), 0))
	require.Equal(t, leader.State.Weights.Of(releases.Key("long")), leader.State.Weights.Of(releases.Key("long too")))
	require.Greater(t, leader.State.Weights.Of(releases.Key("long")), int64(256<<10))
	bustest.Write(t, leader, store.Delete("schedule.web", written[2]))
	require.Zero(t, leader.State.Weights.Of("schedule.web"))

	other := store.NewState(server.Hub(t))
	bustest.InBackground(t, other.Run)
	require.NoError(t, other.WaitSynced(bustest.Context(t)))
	bustest.Eventually(t, func() error { // the tally comes from the watcher alone
		if mine, others := leader.State.Weights.Most(100), other.Weights.Most(100); !slices.Equal(mine, others) {
			return fmt.Errorf("%+v, another hub %+v", mine, others)
		}
		return nil
	})
}
