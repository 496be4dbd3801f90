package bus_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/subjects"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

// woken notes the names a table reports.
type woken struct {
	mu    sync.Mutex
	names []string
}

func (w *woken) add(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.names = append(w.names, name)
}

func (w *woken) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	names := slices.Compact(slices.Sorted(slices.Values(w.names)))
	w.names = nil
	return names
}

// watch follows the records of a server on a connection of its own.
func watch(t *testing.T, c *bus.Conn) (*bus.State, *bus.Table[api.Schedule], *woken) {
	t.Helper()
	state := bus.NewState(c)
	table := bus.TableOf[api.Schedule](state, subjects.Schedules)
	w := &woken{}
	table.OnChange(w.add)
	runInBackground(t, state.Run)
	require.NoError(t, state.WaitSynced(bustest.Context(t)))
	return state, table, w
}

// holds returns nil when the table has exactly these generations by name.
func holds(table *bus.Table[api.Schedule], want map[string]int64) error {
	found := map[string]int64{}
	for _, e := range table.All() {
		found[e.Name] = e.Value.Generation
	}
	if len(found) != len(want) {
		return fmt.Errorf("the table holds %v, expected %v", found, want)
	}
	for name, generation := range want {
		if found[name] != generation {
			return fmt.Errorf("the table holds %v, expected %v", found, want)
		}
	}
	return nil
}

func TestAWatcherSurvivesAServerRestart(t *testing.T) {
	server := bustest.Start(t)
	store := server.Lead(t)
	a := write(t, store, bus.Put("schedule.a", schedule("a", 1), 0))
	write(t, store, bus.Put("schedule.b", schedule("b", 1), 0))
	state, table, w := watch(t, server.Hub(t))
	require.NoError(t, holds(table, map[string]int64{"a": 1, "b": 1}))
	require.Equal(t, []string{"a", "b"}, w.take(), "initial names are reported")

	server.Stop(t)
	bustest.Eventually(t, func() error {
		if state.Synced() {
			return fmt.Errorf("it believes to be synced while the server is away")
		}
		return nil
	})
	require.NoError(t, holds(table, map[string]int64{"a": 1, "b": 1}), "and still shows what it knew")
	server.Restart(t)
	require.NoError(t, state.WaitSynced(bustest.Context(t)))
	bustest.Eventually(t, func() error {
		_, err := store.Writer.Write(t.Context(), bus.Put("schedule.a", schedule("a", 2), a[0]))
		return err
	})
	bustest.Eventually(t, func() error { return holds(table, map[string]int64{"a": 2, "b": 1}) })
	require.Contains(t, w.take(), "a")
}

// A watcher is cut off while records change, go, and are purged without a marker. When it is back it
// must hold what is stored and wake exactly what differs.
func TestAWatcherFindsOutWhatItMissed(t *testing.T) {
	server := bustest.Start(t)
	store := server.Lead(t)
	r := write(t, store, bus.Put("schedule.a", schedule("a", 1), 0), bus.Put("schedule.b", schedule("b", 1), 0),
		bus.Put("schedule.c", schedule("c", 1), 0), bus.Put("schedule.d", schedule("d", 1), 0))
	proxy, c := server.ProxiedHub(t)
	state, table, w := watch(t, c)
	w.take()

	proxy.HoldReplies()
	write(t, store, bus.Put("schedule.a", schedule("a", 2), r[0]))
	write(t, store, bus.Delete("schedule.b", r[1]))
	stream, err := store.Conn.JS.Stream(t.Context(), store.Conn.Fleet.BucketStream(subjects.State))
	require.NoError(t, err)
	require.NoError(t, stream.Purge(t.Context(), jetstream.WithPurgeSubject(store.Conn.Fleet.BucketSubject(subjects.State, "schedule.c"))))
	write(t, store, bus.Put("schedule.e", schedule("e", 1), 0))
	proxy.Cut()
	bustest.Eventually(t, func() error { return holds(table, map[string]int64{"a": 2, "d": 1, "e": 1}) })
	require.NoError(t, state.WaitSynced(bustest.Context(t)))
	require.Equal(t, []string{"a", "b", "c", "e"}, w.take())
}

// A key is purged without a marker under a watcher that is connected: only a new listing shows it.
func TestRelistingFindsAPurgedKey(t *testing.T) {
	server := bustest.Start(t)
	store := server.Lead(t)
	write(t, store, bus.Put("schedule.a", schedule("a", 1), 0), bus.Put("schedule.b", schedule("b", 1), 0))
	state, table, w := watch(t, server.Hub(t))
	w.take()
	stream, err := store.Conn.JS.Stream(t.Context(), store.Conn.Fleet.BucketStream(subjects.State))
	require.NoError(t, err)
	require.NoError(t, stream.Purge(t.Context(), jetstream.WithPurgeSubject(store.Conn.Fleet.BucketSubject(subjects.State, "schedule.a"))))
	require.NoError(t, state.Relist(bustest.Context(t)))
	require.NoError(t, holds(table, map[string]int64{"b": 1}))
	require.Zero(t, state.Revision("schedule.a"))
	require.Equal(t, []string{"a"}, w.take())
}

// The stream loses writes that were acknowledged, as after a power cut, and its sequences begin again.
// The watcher must not hold on to the higher sequences it has seen.
func TestAStreamThatLostWritesIsBelieved(t *testing.T) {
	server := bustest.Start(t)
	store := server.Lead(t)
	r := write(t, store, bus.Put("schedule.a", schedule("a", 1), 0))
	for generation := range int64(5) {
		r = write(t, store, bus.Put("schedule.a", schedule("a", 2+generation), r[0]))
	}
	write(t, store, bus.Put("schedule.b", schedule("b", 1), 0))
	c := server.Hub(t)
	state, table, w := watch(t, c)
	w.take()

	require.NoError(t, c.JS.DeleteStream(t.Context(), c.Fleet.BucketStream(subjects.State)))
	_, err := bus.EnsureLayout(t.Context(), c, bus.LayoutOptions{})
	require.NoError(t, err)
	_, err = c.JS.Publish(t.Context(), c.Fleet.BucketSubject(subjects.State, "schedule.a"), []byte(`{"generation":1}`))
	require.NoError(t, err)
	require.NoError(t, state.Relist(bustest.Context(t)))
	require.NoError(t, holds(table, map[string]int64{"a": 1}))
	require.Equal(t, []string{"a", "b"}, w.take())
}

func TestGroupsAndBrokenRecords(t *testing.T) {
	server := bustest.Start(t)
	store := server.Lead(t)
	snapshots := bus.TableOf[api.Snapshot](store.State, subjects.Snapshots)
	require.Same(t, snapshots, bus.TableOf[api.Snapshot](store.State, subjects.Snapshots))
	for _, name := range []string{"web.10", "web.9", "ns/web.1"} {
		write(t, store, bus.Put(snapshots.Key(name), api.Snapshot{Placement: name}, 0))
	}
	write(t, store, bus.Put("snapshot.web.11", "not an object", 0))
	var names []string
	for _, e := range snapshots.Group("web") {
		names = append(names, e.Name)
	}
	require.Equal(t, []string{"web.9", "web.10"}, names)
	require.Len(t, snapshots.Group("ns/web"), 1)
	require.Contains(t, snapshots.Broken(), "web.11")
	_, revision, found, err := snapshots.Find("web.11")
	require.ErrorIs(t, err, bus.ErrBroken)
	require.ErrorContains(t, err, "record snapshot.web.11")
	require.Equal(t, store.State.Revision("snapshot.web.11"), revision, "who mends it needs its revision")
	require.False(t, found)
	_, err = snapshots.FindGroup("web")
	require.ErrorIs(t, err, bus.ErrBroken)
	whole, err := snapshots.FindGroup("ns/web")
	require.NoError(t, err)
	require.Len(t, whole, 1)
	_, err = snapshots.FindAll()
	require.ErrorIs(t, err, bus.ErrBroken)
	var mu sync.Mutex
	var told []string
	snapshots.OnChange(func(name string) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, name)
	})
	mu.Lock()
	require.Equal(t, []string{"ns/web.1", "web.10", "web.11", "web.9"}, told)
	mu.Unlock()

	write(t, store, bus.Delete("snapshot.ns=2Fweb.1", store.State.Revision("snapshot.ns=2Fweb.1")))
	require.Empty(t, snapshots.Group("ns/web"))
	write(t, store, bus.Put("snapshot.web.11", api.Snapshot{Placement: "web"}, revision))
	whole, err = snapshots.FindAll()
	require.NoError(t, err)
	require.Len(t, whole, 3)
	write(t, store, bus.Put("snapshot.web.11", "not an object", store.State.Revision("snapshot.web.11")))
	late := bus.TableOf[api.PlacementStatus](store.State, subjects.Snapshots)
	require.Equal(t, 2, late.Len(), "a table that is made later sees what is there")
}
