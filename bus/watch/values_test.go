package watch_test

import (
	"fmt"
	"testing"

	"flotilla/bus/bustest"
	"flotilla/bus/watch"
	"flotilla/core/api"
	"flotilla/subjects"

	"github.com/stretchr/testify/require"
)

func TestValuesAreDecodedOncePerWrite(t *testing.T) {
	server := bustest.Start(t)
	store := server.Lead(t)
	values := watch.ValuesOf[api.Heartbeat](store.Heartbeats)
	sequence := func(want uint64) *api.Heartbeat {
		var found *api.Heartbeat
		bustest.Eventually(t, func() error {
			value, entry := values.Get("berlin")
			if entry.Sequence != want {
				return fmt.Errorf("sequence %d, wanted %d", entry.Sequence, want)
			}
			found = value
			return nil
		})
		return found
	}
	require.Nil(t, sequence(0))

	berlin := server.Agent(t, "berlin")
	require.NoError(t, berlin.PutHeartbeat(bustest.Context(t), api.Heartbeat{Member: "berlin", AgentVersion: "v1"}))
	first := sequence(1)
	require.Equal(t, "v1", first.AgentVersion)
	require.Same(t, first, sequence(1), "decoded again")
	shared, _ := watch.ValuesOf[api.Heartbeat](store.Heartbeats).Get("berlin")
	require.Same(t, first, shared, "decoded by each who asks")
	other, _ := watch.ValuesOf[api.Header](store.Heartbeats).Get("berlin")
	require.NotNil(t, other, "as another type it is another value")

	_, err := store.Conn.JS.Publish(bustest.Context(t), store.Conn.Fleet.BucketSubject(subjects.Heartbeat, "berlin"), []byte("{"))
	require.NoError(t, err)
	require.Nil(t, sequence(2), "what cannot be decoded is as if it were not there")

	require.NoError(t, berlin.PutHeartbeat(bustest.Context(t), api.Heartbeat{Member: "berlin", AgentVersion: "v2"}))
	require.Equal(t, "v2", sequence(3).AgentVersion)
	require.Equal(t, 1, watch.Held(values))
	require.NoError(t, store.Heartbeats.Purge(bustest.Context(t), "berlin"))
	require.Zero(t, watch.Held(values), "kept of a member that is gone")
	require.Nil(t, sequence(0))
}
