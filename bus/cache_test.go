package bus_test

import (
	"errors"
	"testing"
	"time"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/subjects"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

func TestCacheAges(t *testing.T) {
	server := bustest.Start(t)
	store := server.Lead(t)
	c := server.Hub(t)
	cache := bus.NewCache(c, subjects.Heartbeat)
	put := func(member string) {
		t.Helper()
		_, err := c.JS.Publish(bustest.Context(t), c.Fleet.BucketSubject(subjects.Heartbeat, member), []byte("{}"))
		require.NoError(t, err)
	}
	put("early")
	runInBackground(t, cache.Run)
	require.NoError(t, cache.WaitSynced(bustest.Context(t)))
	early, ok := cache.Get("early")
	require.True(t, ok)
	require.True(t, early.Replayed)
	require.WithinDuration(t, time.Now(), early.Stored, time.Minute)
	now := time.Now()
	require.InDelta(t, now.Sub(early.Stored), cache.Age(early, now), float64(time.Second))
	require.Equal(t, time.Hour, cache.Age(early, now.Add(time.Hour))-cache.Age(early, now))
	require.False(t, cache.ReadableSince().IsZero())

	put("late")
	var late bus.CacheEntry
	bustest.Eventually(t, func() error {
		if late, ok = cache.Get("late"); !ok {
			return errors.New("no entry")
		}
		return nil
	})
	require.False(t, late.Replayed)
	require.Equal(t, 5*time.Minute, cache.Age(late, late.Received.Add(5*time.Minute)))

	require.NoError(t, cache.Purge(bustest.Context(t), "early"))
	require.Equal(t, []string{"late"}, cache.Keys(""))
	stream, err := c.JS.Stream(t.Context(), c.Fleet.BucketStream(subjects.Heartbeat))
	require.NoError(t, err)
	info, err := stream.Info(t.Context(), jetstream.WithSubjectFilter(">"))
	require.NoError(t, err)
	require.Len(t, info.State.Subjects, 1)
	require.True(t, store.Synced())
}
