package server

import (
	"testing"
	"time"

	"flotilla/subjects"

	"github.com/stretchr/testify/require"
)

// A user holds so many connections, the newest. That some were cut is told for a while and no longer, and nobody else is concerned.
func TestOfAUserTheNewestConnectionsStay(t *testing.T) {
	c, now := newCrowd(), time.Unix(0, 0)
	at := func(id uint64) connection { return connection{"n1", id} }
	came := func(user string, id uint64) []connection {
		return c.came(arrival{account: subjects.AccountAgents, user: user, opened: opened{at(id), time.Unix(int64(id), 0)}}, now)
	}
	for id := range uint64(AgentConnections) {
		require.Empty(t, came("mallory", id))
		require.Empty(t, came("mallory", id), "heard of twice")
	}
	require.Empty(t, c.beyond(now))
	require.Equal(t, []connection{at(0)}, came("mallory", 100))
	require.Empty(t, came("oslo", 101))
	require.Empty(t, c.came(arrival{account: subjects.AccountHub, user: "hub", opened: opened{at: at(102)}}, now), "hubs are not counted")
	require.Equal(t, []Holder{{Account: subjects.AccountAgents, Open: AgentConnections}}, c.beyond(now))
	require.Equal(t, AgentConnections, c.first(subjects.AccountAgents).Open)
	require.Zero(t, c.first(subjects.AccountPeople))

	c.left("mallory", at(1))
	require.Empty(t, came("mallory", 103), "another one in its place")
	now = now.Add(cutLately)
	require.Empty(t, c.beyond(now))
	require.Equal(t, []connection{at(2)}, came("mallory", 104), "and nothing was forgotten")
	for _, id := range []uint64{3, 100, 103, 104} {
		c.left("mallory", at(id))
	}
	c.left("oslo", at(101))
	now = now.Add(cutLately)
	require.Empty(t, c.beyond(now))
	require.Empty(t, c.users, "who is gone is forgotten")
}
