package watch_test

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/store"
	"flotilla/bus/streams"
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

// holds returns nil when the table has exactly these generations by name.
func holds(table *store.Table[api.Schedule], want map[string]int64) error {
	if found := bustest.Generations(table); !maps.Equal(found, want) {
		return fmt.Errorf("the table holds %v, expected %v", found, want)
	}
	return nil
}

func TestAWatcherSurvivesAServerRestart(t *testing.T) {
	server := bustest.Start(t)
	leader := server.Lead(t)
	a := bustest.Write(t, leader, store.Put("schedule.a", bustest.Schedule("a", 1), 0))
	bustest.Write(t, leader, store.Put("schedule.b", bustest.Schedule("b", 1), 0))
	w := &woken{}
	state, table := bustest.Schedules(t, server.Hub(t), w.add)
	require.Equal(t, map[string]int64{"a": 1, "b": 1}, bustest.Generations(table))
	require.Equal(t, []string{"a", "b"}, w.take(), "initial names are reported")

	server.Stop(t)
	bustest.Eventually(t, func() error {
		if state.Synced() {
			return fmt.Errorf("it believes to be synced while the server is away")
		}
		return nil
	})
	require.Equal(t, map[string]int64{"a": 1, "b": 1}, bustest.Generations(table), "and still shows what it knew")
	server.Restart(t)
	require.NoError(t, state.WaitSynced(bustest.Context(t)))
	bustest.Eventually(t, func() error {
		_, err := leader.Writer.Write(t.Context(), store.Put("schedule.a", bustest.Schedule("a", 2), a[0]))
		return err
	})
	bustest.Eventually(t, func() error { return holds(table, map[string]int64{"a": 2, "b": 1}) })
	require.Contains(t, w.take(), "a")
}

// A watcher is cut off while records change, go, and are purged without a marker. When it is back it
// must hold what is stored and wake exactly what differs.
func TestAWatcherFindsOutWhatItMissed(t *testing.T) {
	server := bustest.Start(t)
	leader := server.Lead(t)
	r := bustest.Write(t, leader, store.Put("schedule.a", bustest.Schedule("a", 1), 0), store.Put("schedule.b", bustest.Schedule("b", 1), 0),
		store.Put("schedule.c", bustest.Schedule("c", 1), 0), store.Put("schedule.d", bustest.Schedule("d", 1), 0))
	proxy, c := server.ProxiedHub(t)
	w := &woken{}
	state, table := bustest.Schedules(t, c, w.add)
	w.take()

	proxy.HoldReplies()
	bustest.Write(t, leader, store.Put("schedule.a", bustest.Schedule("a", 2), r[0]))
	bustest.Write(t, leader, store.Delete("schedule.b", r[1]))
	stream, err := leader.Conn.JS.Stream(t.Context(), leader.Conn.Fleet.BucketStream(subjects.State))
	require.NoError(t, err)
	require.NoError(t, stream.Purge(t.Context(), jetstream.WithPurgeSubject(leader.Conn.Fleet.BucketSubject(subjects.State, "schedule.c"))))
	bustest.Write(t, leader, store.Put("schedule.e", bustest.Schedule("e", 1), 0))
	proxy.Cut()
	bustest.Eventually(t, func() error { return holds(table, map[string]int64{"a": 2, "d": 1, "e": 1}) })
	require.NoError(t, state.WaitSynced(bustest.Context(t)))
	require.Equal(t, []string{"a", "b", "c", "e"}, w.take())
}

// A key is purged without a marker under a watcher that is connected: only a new listing shows it.
func TestRelistingFindsAPurgedKey(t *testing.T) {
	server := bustest.Start(t)
	leader := server.Lead(t)
	bustest.Write(t, leader, store.Put("schedule.a", bustest.Schedule("a", 1), 0), store.Put("schedule.b", bustest.Schedule("b", 1), 0))
	w := &woken{}
	state, table := bustest.Schedules(t, server.Hub(t), w.add)
	w.take()
	stream, err := leader.Conn.JS.Stream(t.Context(), leader.Conn.Fleet.BucketStream(subjects.State))
	require.NoError(t, err)
	require.NoError(t, stream.Purge(t.Context(), jetstream.WithPurgeSubject(leader.Conn.Fleet.BucketSubject(subjects.State, "schedule.a"))))
	require.NoError(t, state.Relist(bustest.Context(t)))
	require.Equal(t, map[string]int64{"b": 1}, bustest.Generations(table))
	require.Zero(t, state.Revision("schedule.a"))
	require.Equal(t, []string{"a"}, w.take())
}

// The stream loses writes that were acknowledged, as after a power cut, and its sequences begin again.
// The watcher must not hold on to the higher sequences it has seen.
func TestAStreamThatLostWritesIsBelieved(t *testing.T) {
	server := bustest.Start(t)
	leader := server.Lead(t)
	r := bustest.Write(t, leader, store.Put("schedule.a", bustest.Schedule("a", 1), 0))
	for generation := range int64(5) {
		r = bustest.Write(t, leader, store.Put("schedule.a", bustest.Schedule("a", 2+generation), r[0]))
	}
	bustest.Write(t, leader, store.Put("schedule.b", bustest.Schedule("b", 1), 0))
	c := server.Hub(t)
	w := &woken{}
	state, table := bustest.Schedules(t, c, w.add)
	w.take()

	require.NoError(t, c.JS.DeleteStream(t.Context(), c.Fleet.BucketStream(subjects.State)))
	_, err := streams.EnsureLayout(t.Context(), c, streams.LayoutOptions{})
	require.NoError(t, err)
	_, err = c.JS.Publish(t.Context(), c.Fleet.BucketSubject(subjects.State, "schedule.a"), []byte(`{"generation":1}`))
	require.NoError(t, err)
	require.NoError(t, state.Relist(bustest.Context(t)))
	require.Equal(t, map[string]int64{"a": 1}, bustest.Generations(table))
	require.Equal(t, []string{"a", "b"}, w.take())
}

func TestGroupsAndBrokenRecords(t *testing.T) {
	server := bustest.Start(t)
	leader := server.Lead(t)
	snapshots := store.TableOf[api.Snapshot](leader.State, subjects.Snapshots)
	require.Same(t, snapshots, store.TableOf[api.Snapshot](leader.State, subjects.Snapshots))
	for _, name := range []string{"web.10", "web.9", "ns/web.1"} {
		bustest.Write(t, leader, store.Put(snapshots.Key(name), api.Snapshot{Placement: name}, 0))
	}
	bustest.Write(t, leader, store.Put("snapshot.web.11", "not an object", 0))
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
	require.Equal(t, leader.State.Revision("snapshot.web.11"), revision, "who mends it needs its revision")
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

	bustest.Write(t, leader, store.Delete("snapshot.ns=2Fweb.1", leader.State.Revision("snapshot.ns=2Fweb.1")))
	require.Empty(t, snapshots.Group("ns/web"))
	bustest.Write(t, leader, store.Put("snapshot.web.11", api.Snapshot{Placement: "web"}, revision))
	whole, err = snapshots.FindAll()
	require.NoError(t, err)
	require.Len(t, whole, 3)
	bustest.Write(t, leader, store.Put("snapshot.web.11", "not an object", leader.State.Revision("snapshot.web.11")))
	late := store.TableOf[api.PlacementStatus](leader.State, subjects.Snapshots)
	require.Equal(t, 2, late.Len(), "a table that is made later sees what is there")
}
