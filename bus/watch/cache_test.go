package watch_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/watch"
	"flotilla/core/api"
	"flotilla/subjects"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

func TestCacheAges(t *testing.T) {
	server := bustest.Start(t)
	store := server.Lead(t)
	c := server.Hub(t)
	cache := watch.NewCache(c, subjects.Heartbeat)
	put := func(member string) {
		t.Helper()
		_, err := c.JS.Publish(bustest.Context(t), c.Fleet.BucketSubject(subjects.Heartbeat, member), []byte("{}"))
		require.NoError(t, err)
	}
	put("early")
	bustest.InBackground(t, cache.Run)
	require.NoError(t, cache.WaitSynced(bustest.Context(t)))
	early, ok := cache.Get("early")
	require.True(t, ok)
	require.True(t, early.Replayed)
	require.WithinDuration(t, time.Now(), early.Stored, time.Minute)
	now := c.Now()
	require.InDelta(t, time.Since(early.Stored), cache.Age(early, now), float64(time.Second))
	require.Equal(t, time.Hour, cache.Age(early, now.Add(time.Hour))-cache.Age(early, now))
	require.WithinDuration(t, now, cache.ReadableSince(), time.Minute)

	put("late")
	var late watch.CacheEntry
	bustest.Eventually(t, func() error {
		if late, ok = cache.Get("late"); !ok {
			return errors.New("no entry")
		}
		return nil
	})
	require.False(t, late.Replayed)
	require.InDelta(t, 5*time.Minute, cache.Age(late, c.Now().Add(5*time.Minute)), float64(10*time.Second))

	require.NoError(t, cache.Purge(bustest.Context(t), "early"))
	require.Equal(t, []string{"late"}, cache.Keys(""))
	stream, err := c.JS.Stream(t.Context(), c.Fleet.BucketStream(subjects.Heartbeat))
	require.NoError(t, err)
	info, err := stream.Info(t.Context(), jetstream.WithSubjectFilter(">"))
	require.NoError(t, err)
	require.Len(t, info.State.Subjects, 1)
	require.True(t, store.Synced())
}

func TestInventories(t *testing.T) {
	server := bustest.Start(t)
	store := server.Lead(t)
	agent := server.Agent(t, "berlin")
	require.NoError(t, agent.PutInventory(bustest.Context(t), api.MemberInventory{Member: "oslo", ControlPlaneVersion: "1.29.2"}))
	c := server.Hub(t)
	_, err := c.JS.Publish(bustest.Context(t), c.Fleet.NodeEvent("berlin", "inventory"), []byte("{}"))
	require.NoError(t, err)
	require.NoError(t, agent.PutInventory(bustest.Context(t), api.MemberInventory{ControlPlaneVersion: "1.29.9"}))
	values := watch.ValuesOf[api.MemberInventory](store.Inventories)
	bustest.Eventually(t, func() error {
		if found, _ := values.Get("berlin"); found == nil || found.ControlPlaneVersion != "1.29.9" {
			return fmt.Errorf("the hub knows %+v", found)
		}
		return nil
	})
	found, _ := values.Get("berlin")
	require.Equal(t, api.NewHeader(api.KindInventory), found.Header)
	require.Equal(t, "berlin", found.Member, "an agent speaks for its own member")
	require.Equal(t, []string{"berlin"}, store.Inventories.Keys(""), "events of nodes are no inventories")
	require.NoError(t, store.Inventories.Purge(bustest.Context(t), "berlin"))
	require.Empty(t, store.Inventories.Keys(""))
	large := api.MemberInventory{Region: strings.Repeat("x", bus.MaxInventory)}
	require.ErrorIs(t, agent.PutInventory(bustest.Context(t), large), bus.ErrTooLarge)
}
