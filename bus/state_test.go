package bus_test

import (
	"fmt"
	"testing"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/subjects"

	"github.com/stretchr/testify/require"
)

// schedule returns a small record.
func schedule(placement string, generation int64) api.Schedule {
	return api.Schedule{Header: api.NewHeader(api.KindSchedule), Placement: placement, Generation: generation, Bindings: []api.Binding{}}
}

// write stores ops that must succeed.
func write(t *testing.T, s *bus.Store, ops ...bus.Op) []uint64 {
	t.Helper()
	revisions, err := s.Writer.Write(bustest.Context(t), ops...)
	require.NoError(t, err)
	return revisions
}

func TestOwnWritesAreInTheCacheAtOnce(t *testing.T) {
	store := bustest.Start(t).Lead(t)
	table := bus.TableOf[api.Schedule](store.State, subjects.Schedules)
	key := table.Key("ns/web")

	first := write(t, store, bus.Put(key, schedule("ns/web", 1), 0))
	value, revision, ok := table.Get("ns/web")
	require.True(t, ok)
	require.Equal(t, first[0], revision)
	require.Equal(t, schedule("ns/web", 1), value)

	second := write(t, store, bus.Put(key, schedule("ns/web", 2), first[0]))
	require.Greater(t, second[0], first[0])
	write(t, store, bus.Delete(key, second[0]))
	_, revision, ok = table.Get("ns/web")
	require.False(t, ok)
	require.Zero(t, revision)
	write(t, store, bus.Put(key, schedule("ns/web", 3), 0))
}

func TestAnotherWatcherSeesTheSame(t *testing.T) {
	server := bustest.Start(t)
	store := server.Lead(t)
	other := bus.NewState(server.Hub(t))
	table := bus.TableOf[api.Schedule](other, subjects.Schedules)
	runInBackground(t, other.Run)
	require.NoError(t, other.WaitSynced(bustest.Context(t)))

	write(t, store, bus.Put("schedule.web", schedule("web", 7), 0))
	bustest.Eventually(t, func() error {
		if v, _, ok := table.Get("web"); !ok || v.Generation != 7 {
			return fmt.Errorf("generation %d, there %v", v.Generation, ok)
		}
		return nil
	})
}
