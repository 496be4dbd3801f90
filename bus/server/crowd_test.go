package server

import (
	"testing"
	"time"

	"flotilla/subjects"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"
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

// All connections of the agents of a name are cut, each once, whichever key they show; those that come back may be cut again.
func TestTheConnectionsOfAnAgentAreCutOnce(t *testing.T) {
	c := newCrowd()
	came := func(account, user, name string, id uint64) {
		claims := jwt.NewUserClaims(user)
		claims.Name = name
		token, err := claims.Encode(signer(t))
		require.NoError(t, err)
		c.came(arrival{account, user, token, opened{connection{"n1", id}, time.Unix(int64(id), 0)}}, time.Unix(0, 0))
	}
	one, other, third := userKey(t), userKey(t), userKey(t)
	came(subjects.AccountAgents, one, "mallory", 1)
	came(subjects.AccountAgents, one, "mallory", 2)
	came(subjects.AccountAgents, other, "mallory", 3)
	came(subjects.AccountAgents, third, "oslo", 4)
	came(subjects.AccountPeople, userKey(t), "mallory", 5)
	c.cut("mallory") // nobody can yet
	var cut []uint64
	c.by(func(all []connection) {
		for _, one := range all {
			cut = append(cut, one.id)
		}
	})
	c.cut("mallory")
	require.ElementsMatch(t, []uint64{1, 2, 3}, cut)
	c.cut("mallory")
	require.Len(t, cut, 3)
	came(subjects.AccountAgents, one, "mallory", 6)
	c.cut("mallory")
	require.Equal(t, uint64(6), cut[3])
	c.by(nil)
	came(subjects.AccountAgents, one, "mallory", 7)
	c.cut("mallory")
	require.Len(t, cut, 4)
}

func signer(t *testing.T) nkeys.KeyPair {
	t.Helper()
	account, err := nkeys.CreateAccount()
	require.NoError(t, err)
	return account
}

func userKey(t *testing.T) string {
	t.Helper()
	user, err := nkeys.CreateUser()
	require.NoError(t, err)
	key, err := user.PublicKey()
	require.NoError(t, err)
	return key
}
