package member_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/bus/member"
	"flotilla/core/api"
)

// Two agents that store heartbeats of one member in turn both notice, and so does each when the other has stopped. One that is alone, or
// starts anew, notices nobody.
func TestAgentsNoticeTheirTwin(t *testing.T) {
	server := bustest.Start(t)
	server.Lead(t)
	beat := func(a *member.Conn) {
		t.Helper()
		require.NoError(t, a.PutHeartbeat(bustest.Context(t), api.Heartbeat{Healthy: true}))
	}
	first := server.Agent(t, "berlin")
	for range 5 {
		beat(first)
	}
	require.NoError(t, first.Twin())
	second := server.Agent(t, "berlin")
	for range 5 {
		beat(second)
	}
	require.NoError(t, second.Twin(), "it was started anew")

	beat(first)
	require.NoError(t, first.Twin(), "a broker may have lost one")
	beat(second)
	beat(first)
	require.ErrorIs(t, first.Twin(), member.ErrTwin)
	require.ErrorContains(t, first.Twin(), "flotilla member revoke berlin")
	beat(second)
	require.ErrorIs(t, second.Twin(), member.ErrTwin)

	beat(first)
	for range 2 {
		beat(first)
		require.ErrorIs(t, first.Twin(), member.ErrTwin)
	}
	beat(first)
	require.NoError(t, first.Twin())
}

// Heartbeats that were stored, and whose acknowledgement was lost, are no other agent's.
func TestALostAcknowledgementIsNoTwin(t *testing.T) {
	server := bustest.Start(t)
	heartbeats := server.Lead(t).Heartbeats
	proxy, agent := throughProxy(t, server)
	beat := func(ctx context.Context, sequence uint64) error {
		return agent.PutHeartbeat(ctx, api.Heartbeat{Healthy: true, Sequence: sequence})
	}
	for i := range uint64(4) {
		bustest.Eventually(t, func() error { return beat(bustest.Context(t), 2*i) })
		require.NoError(t, agent.Twin())
		proxy.HoldReplies()
		ctx, cancel := context.WithCancel(bustest.Context(t))
		lost := make(chan error, 1)
		go func() { lost <- beat(ctx, 2*i+1) }()
		bustest.Eventually(t, func() error {
			entry, _ := heartbeats.Get("berlin")
			var stored api.Heartbeat
			if err := json.Unmarshal(entry.Value, &stored); err != nil || stored.Sequence != 2*i+1 {
				return fmt.Errorf("heartbeat %d is stored (%w)", stored.Sequence, err)
			}
			return nil
		})
		cancel()
		require.Error(t, <-lost)
		proxy.Cut()
	}
}
