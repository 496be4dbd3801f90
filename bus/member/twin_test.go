package member_test

import (
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
	proxy := bustest.NewProxy(t, server)
	options := server.AgentOptions(t, "berlin")
	options.URL = proxy.URL()
	agent, err := member.Connect(t.Context(), options, "berlin")
	require.NoError(t, err)
	t.Cleanup(agent.Close)
	for i := range uint64(4) {
		beat := func(sequence uint64) error {
			return agent.PutHeartbeat(bustest.Context(t), api.Heartbeat{Healthy: true, Sequence: sequence})
		}
		bustest.Eventually(t, func() error { return beat(2 * i) })
		proxy.HoldReplies()
		lost := make(chan error, 1)
		go func() { lost <- beat(2*i + 1) }()
		bustest.Eventually(t, func() error {
			entry, _ := heartbeats.Get("berlin")
			var stored api.Heartbeat
			if err := json.Unmarshal(entry.Value, &stored); err != nil || stored.Sequence != 2*i+1 {
				return fmt.Errorf("heartbeat %d is stored (%w)", stored.Sequence, err)
			}
			return nil
		})
		proxy.Cut()
		require.Error(t, <-lost)
		require.NoError(t, agent.Twin())
	}
}
