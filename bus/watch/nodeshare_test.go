package watch_test

import (
	"fmt"
	"sync"
	"testing"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/store"
	"flotilla/bus/watch"
	"flotilla/subjects"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

// limited follows nodes with a share, and counts who is beyond it.
func limited(t *testing.T, c *bus.Conn, share int64) (*watch.NodeFeed, *seen, func(member string) int) {
	t.Helper()
	var mu sync.Mutex
	beyond := map[string]int{}
	s := newSeen()
	n := watch.NewNodeFeed(c, s)
	n.Limit(share, func(member string) {
		mu.Lock()
		defer mu.Unlock()
		beyond[member]++
	})
	bustest.InBackground(t, n.Run)
	require.NoError(t, n.WaitSynced(bustest.Context(t)))
	return n, s, func(member string) int {
		mu.Lock()
		defer mu.Unlock()
		return beyond[member]
	}
}

func storedEvents(t *testing.T, store *store.Store, member string) int {
	t.Helper()
	stream, err := store.Conn.JS.Stream(bustest.Context(t), store.Conn.Fleet.Stream(subjects.Events))
	require.NoError(t, err)
	info, err := stream.Info(bustest.Context(t), jetstream.WithSubjectFilter(store.Conn.Fleet.AllNodeEvents(member)))
	require.NoError(t, err)
	return len(info.State.Subjects)
}

// What a member tells beyond its share is not taken in but purged, by name while that is little, and all of
// it where it is much; another member's nodes stay, and so do the member's own that came first.
func TestWhatIsBeyondAShareIsPurged(t *testing.T) {
	server := bustest.Start(t)
	store := server.Lead(t)
	hub := server.Hub(t)
	berlin, oslo := server.Agent(t, "berlin"), server.Agent(t, "oslo")
	putNode(t, oslo, "n1", 1)
	feed, sink, beyond := limited(t, hub, 64<<10)
	flood := func(from, to int) {
		for i := from; i < to; i++ {
			_, err := hub.JS.Publish(bustest.Context(t), hub.Fleet.NodeEvent("berlin", fmt.Sprintf("f%d", i)), make([]byte, 4<<10))
			require.NoError(t, err)
		}
	}
	putNode(t, berlin, "n1", 1)
	flood(0, 20)
	sink.until(t, "node berlin/f14 broken")
	bustest.Eventually(t, func() error {
		if n := beyond("berlin"); n != 5 {
			return fmt.Errorf("beyond %d times", n)
		}
		return nil
	})
	require.Equal(t, []int{21, 16}, []int{storedEvents(t, store, "berlin"), len(feed.Nodes("berlin"))})
	require.NoError(t, feed.Relieve(bustest.Context(t), "berlin"))
	require.Equal(t, 16, storedEvents(t, store, "berlin"))
	use := feed.Uses()["berlin"]
	require.EqualValues(t, 5, use.Refused)
	require.Less(t, use.Bytes, int64(64<<10))

	flood(20, 60)
	bustest.Eventually(t, func() error {
		if n := beyond("berlin"); n != 45 {
			return fmt.Errorf("beyond %d times", n)
		}
		return nil
	})
	sink.take()
	require.NoError(t, feed.Relieve(bustest.Context(t), "berlin"))
	sink.until(t, "gone berlin/n1")
	require.Zero(t, storedEvents(t, store, "berlin"))
	require.Equal(t, 1, storedEvents(t, store, "oslo"))
	require.Zero(t, feed.Uses()["berlin"].Bytes)
	putNode(t, berlin, "n1", 2)
	sink.until(t, "node berlin/n1 2, 0 pods")
	require.Equal(t, []string{"n1"}, feed.Nodes("berlin"))
	require.Zero(t, beyond("oslo"))

	flood(60, 90)
	_, _, anew := limited(t, server.Hub(t), 64<<10)
	require.Equal(t, 15, anew("berlin"), "a hub that begins counts what is stored")
}

// What no agent of ours would write under the subjects of nodes counts too, and is purged.
func TestWhatNoNodeIsCalledIsPurged(t *testing.T) {
	server := bustest.Start(t)
	store := server.Lead(t)
	hub := server.Hub(t)
	feed, _, beyond := limited(t, hub, 64<<10)
	_, err := hub.JS.Publish(bustest.Context(t), hub.Fleet.AllNodeEvents("berlin")[:len(hub.Fleet.AllNodeEvents("berlin"))-1]+"=zz", []byte("{}"))
	require.NoError(t, err)
	bustest.Eventually(t, func() error {
		if beyond("berlin") != 1 {
			return fmt.Errorf("beyond %d times", beyond("berlin"))
		}
		return nil
	})
	require.NoError(t, feed.Relieve(bustest.Context(t), "berlin"))
	require.Zero(t, storedEvents(t, store, "berlin"))
}
