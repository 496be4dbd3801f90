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

	c.left("mallory", at(1), now)
	require.Empty(t, came("mallory", 103), "another one in its place")
	now = now.Add(cutLately)
	require.Empty(t, c.beyond(now))
	require.Equal(t, []connection{at(2)}, came("mallory", 104), "and nothing was forgotten")
	for _, id := range []uint64{3, 100, 103, 104} {
		c.left("mallory", at(id), now)
	}
	c.left("oslo", at(101), now)
	now = now.Add(cutLately)
	require.Empty(t, c.beyond(now))
	require.Empty(t, c.users, "who is gone is forgotten")
}

// All connections of the agents of a name are cut, each once, whichever key they show; those that come back are cut at once for a while, and
// may be cut again after that.
func TestTheConnectionsOfAnAgentAreCutOnce(t *testing.T) {
	c, now := newCrowd(), time.Unix(0, 0)
	kind := kindClient
	came := func(account, user, name string, id uint64) (beyond []connection) {
		claims := jwt.NewUserClaims(user)
		claims.Name = name
		token, err := claims.Encode(signer(t))
		require.NoError(t, err)
		return c.came(arrival{account, user, token, kind, opened{connection{"n1", id}, time.Unix(int64(id), 0)}}, now)
	}
	one, other, third := userKey(t), userKey(t), userKey(t)
	came(subjects.AccountAgents, one, "mallory", 1)
	came(subjects.AccountAgents, one, "mallory", 2)
	came(subjects.AccountAgents, other, "mallory", 3)
	came(subjects.AccountAgents, third, "oslo", 4)
	came(subjects.AccountPeople, userKey(t), "mallory", 5)
	kind = kindLeaf
	came(subjects.AccountAgents, userKey(t), subjects.LeafPrefix+"mallory", 8)
	kind = kindClient
	c.cut(agent{name: "mallory"}, now) // nobody can yet
	var cut []uint64
	c.by(func(all []connection) {
		for _, one := range all {
			cut = append(cut, one.id)
		}
	})
	c.cut(agent{name: "mallory"}, now)
	require.ElementsMatch(t, []uint64{1, 2, 3}, cut)
	c.cut(agent{name: "mallory"}, now)
	require.Len(t, cut, 3)
	require.Equal(t, []connection{{"n1", 9}}, came(subjects.AccountAgents, one, "mallory", 9))
	require.Empty(t, came(subjects.AccountAgents, third, "oslo", 10))
	require.Empty(t, c.beyond(now))
	now = now.Add(barredFor)
	require.Empty(t, came(subjects.AccountAgents, one, "mallory", 6))
	c.cut(agent{name: "mallory"}, now)
	require.Equal(t, uint64(6), cut[3])
	c.by(nil)
	came(subjects.AccountAgents, one, "mallory", 7)
	c.cut(agent{name: "mallory"}, now)
	require.Len(t, cut, 4)
	c.left(other, connection{"n1", 3}, now)
	c.left(third, connection{"n1", 4}, now)
	c.left(third, connection{"n1", 10}, now)
	require.Len(t, c.agents, 2)
	require.Len(t, c.agents[agent{name: "mallory"}], 1, "who is gone is forgotten")
}

// A leaf node is no agent: it is named as what it is, and a member of its name is not.
func TestALeafNodeHoldsSoManyConnectionsToo(t *testing.T) {
	c, now := newCrowd(), time.Unix(0, 0)
	claims := jwt.NewUserClaims(userKey(t))
	claims.Name = subjects.LeafPrefix + "edge"
	token, err := claims.Encode(signer(t))
	require.NoError(t, err)
	came := func(id uint64) []connection {
		return c.came(arrival{subjects.AccountAgents, claims.Subject, token, kindLeaf, opened{connection{"n1", id}, time.Unix(int64(id), 0)}}, now)
	}
	for id := range uint64(LeafConnections) {
		require.Empty(t, came(id))
	}
	require.Equal(t, []connection{{"n1", 0}}, came(100))
	var cut []connection
	c.by(func(all []connection) { cut = all })
	c.cut(agent{name: "edge"}, now)
	require.Empty(t, cut)
	c.cut(agent{name: "edge", leaf: true}, now)
	require.Len(t, cut, LeafConnections)
	require.Equal(t, []Crowd{{Account: subjects.AccountAgents, Name: "edge", Leaf: true, Most: LeafConnections}}, c.crowds(now))
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
