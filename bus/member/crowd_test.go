package member_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/subjects"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"
)

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
