package bus_test

import (
	"bytes"
	"fmt"
	"sync/atomic"
	"testing"

	"flotilla/bus"
	"flotilla/bus/bustest"
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
	enemy := server.Agent(t, "mallory")
	keys := make(chan string, 2*writes)
	busy := make(chan struct{})
	bustest.InBackground(t, bus.CountMessages(server.Hub(t), subjects.Result, func(key string) {
		keys <- key
		<-busy
	}))
	flood := subjects.ResultSlotKey("mallory", 3)
	write := func() {
		require.NoError(t, enemy.PutRaw(store.Conn.Fleet.BucketSubject(subjects.Result, flood), bytes.Repeat([]byte("x"), size)))
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

// What is refused because others send more than can be stored is sent again until there is room.
func TestACrowdedStreamIsAskedAgain(t *testing.T) {
	server := bustest.Start(t)
	var asked atomic.Int32
	hub := server.Hub(t)
	_, err := hub.NC.Subscribe(hub.Fleet.BucketSubject(subjects.Heartbeat, "berlin"), func(m *nats.Msg) {
		if asked.Add(1) < 4 {
			_ = m.Respond([]byte(`{"error":{"code":429,"err_code":10167,"description":"too many requests"}}`))
			return
		}
		_ = m.Respond(fmt.Appendf(nil, `{"stream":%q,"seq":1}`, hub.Fleet.BucketStream(subjects.Heartbeat)))
	})
	require.NoError(t, err)
	require.NoError(t, hub.NC.Flush())
	require.NoError(t, server.Agent(t, "berlin").PutHeartbeat(bustest.Context(t), api.Heartbeat{}))
	require.EqualValues(t, 4, asked.Load())
}
