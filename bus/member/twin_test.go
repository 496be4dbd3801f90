package member_test

import (
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
