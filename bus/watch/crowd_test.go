package watch_test

import (
	"bytes"
	"testing"

	"flotilla/bus/bustest"
	"flotilla/bus/watch"
	"flotilla/core/api"
	"flotilla/subjects"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"
)

// However much a member writes while the hub is busy, only what fits into the window is in front of what others
// write: the rest it replaced itself before it was sent.
func TestOfOneMemberNoMoreThanAWindowIsInFrontOfOthers(t *testing.T) {
	const size, writes = 60 << 10, 400
	server := bustest.Start(t)
	store := server.Lead(t)
	enemy, err := server.AgentOptions(t, "mallory").Connect("enemy", nats.CustomInboxPrefix(subjects.Inbox("mallory")))
	require.NoError(t, err)
	t.Cleanup(enemy.Close)
	keys := make(chan string, 2*writes)
	busy := make(chan struct{})
	bustest.InBackground(t, watch.CountMessages(server.Hub(t), subjects.Result, func(key string) {
		keys <- key
		<-busy
	}))
	flood := subjects.ResultSlotKey("mallory", 3)
	write := func() {
		_, err := enemy.JS.Publish(bustest.Context(t), store.Conn.Fleet.BucketSubject(subjects.Result, flood), bytes.Repeat([]byte("x"), size))
		require.NoError(t, err)
	}
	write()
	require.Equal(t, flood, <-keys) // it is being taken in
	for range writes {
		write()
	}
	require.NoError(t, server.Agent(t, "berlin").PutResult(bustest.Context(t), subjects.CommandPlacement, "web", api.PlacementResult{}))
	close(busy)
	before := 0
	for <-keys == flood {
		before++
	}
	require.LessOrEqual(t, before, (2<<20)/size+2, "of %d messages", writes)
	require.Positive(t, before)
}
