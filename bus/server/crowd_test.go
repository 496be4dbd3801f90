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
		return c.came(arrival{account: subjects.AccountAgents, user: user, opened: opened{at: at(id), since: time.Unix(int64(id), 0)}}, now)
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

	c.left("mallory", at(1), traffic{}, now)
	require.Empty(t, came("mallory", 103), "another one in its place")
	now = now.Add(cutLately)
	require.Empty(t, c.beyond(now))
	require.Equal(t, []connection{at(2)}, came("mallory", 104), "and nothing was forgotten")
	for _, id := range []uint64{3, 100, 103, 104} {
		c.left("mallory", at(id), traffic{}, now)
	}
	c.left("oslo", at(101), traffic{}, now)
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
		return c.came(arrival{account, user, tokenOf(t, user, name), kind, opened{at: connection{"n1", id}, since: time.Unix(int64(id), 0)}}, now)
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
	c.left(other, connection{"n1", 3}, traffic{}, now)
	c.left(third, connection{"n1", 4}, traffic{}, now)
	c.left(third, connection{"n1", 10}, traffic{}, now)
	require.Len(t, c.agents, 2)
	require.Len(t, c.agents[agent{name: "mallory"}], 1, "who is gone is forgotten")
}

// A leaf node is no agent: it is named as what it is, and a member of its name is not.
func TestALeafNodeHoldsSoManyConnectionsToo(t *testing.T) {
	c, now := newCrowd(), time.Unix(0, 0)
	user := userKey(t)
	token := tokenOf(t, user, subjects.LeafPrefix+"edge")
	came := func(id uint64) []connection {
		return c.came(arrival{subjects.AccountAgents, user, token, kindLeaf, opened{at: connection{"n1", id}, since: time.Unix(int64(id), 0)}}, now)
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

// Of a user with more to say than anybody needs all connections are cut, and new ones for a while; what a connection had said before it was
// counted is nobody's fault, and a leaf node says what many agents do.
func TestWhoSendsTooMuchIsCut(t *testing.T) {
	c, now := newCrowd(), time.Unix(1e9, 0)
	var cut []uint64
	c.by(func(all []connection) {
		for _, one := range all {
			cut = append(cut, one.id)
		}
	})
	at := func(id uint64) connection { return connection{"n1", id} }
	look := func(of map[connection]traffic) {
		if kick, beyond := c.look(seen{of: of}, now); len(beyond) > 0 {
			kick(beyond)
		}
	}
	c.came(arrival{account: subjects.AccountAgents, user: "mallory", opened: opened{at: at(1)}}, now)
	c.came(arrival{account: subjects.AccountAgents, user: "mallory", opened: opened{at: at(2), sent: 10_000_000}}, now)
	c.came(arrival{account: subjects.AccountAgents, user: "oslo", opened: opened{at: at(3)}}, now)
	look(map[connection]traffic{at(1): {messages: 30_000}, at(2): {messages: 10_000_000}, at(3): {messages: 40_000}, at(9): {messages: 1 << 40}})
	require.Empty(t, cut)
	now = now.Add(time.Second) // in which 5,000 more may be sent
	look(map[connection]traffic{at(1): {messages: 38_000}, at(2): {messages: 10_007_000}, at(3): {messages: 45_000}})
	require.Empty(t, cut)
	look(map[connection]traffic{at(1): {messages: 38_001}, at(2): {messages: 10_007_000}, at(3): {messages: 45_000}})
	require.ElementsMatch(t, []uint64{1, 2}, cut)
	require.Equal(t, []Crowd{{Account: subjects.AccountAgents, Most: AgentConnections, Excess: ExcessMessages}}, c.crowds(now))
	require.Equal(t, []connection{at(4)}, c.came(arrival{account: subjects.AccountAgents, user: "mallory", opened: opened{at: at(4)}}, now))
	now = now.Add(barredFor)
	require.Empty(t, c.came(arrival{account: subjects.AccountAgents, user: "mallory", opened: opened{at: at(5)}}, now))
	look(map[connection]traffic{at(5): {messages: 1 << 40}})
	require.Equal(t, uint64(5), cut[2])
	cut = cut[:2]
	now = now.Add(barredFor)
	look(nil)
	require.Empty(t, c.came(arrival{account: subjects.AccountAgents, user: "mallory", opened: opened{at: at(5)}}, now), "and then all begins anew")
	look(map[connection]traffic{at(5): {messages: 40_000}})
	require.Empty(t, c.crowds(now))
	c.left("mallory", at(5), traffic{messages: 40_001}, now)
	look(nil)
	require.Equal(t, []connection{at(6)}, c.came(arrival{account: subjects.AccountAgents, user: "mallory", opened: opened{at: at(6)}}, now),
		"what was sent over a connection that is gone counts")

	// Each 4 KiB of an agent count as a message, each 64 KiB of a person, and what all behind a leaf node send as a sixteenth.
	c.came(arrival{account: subjects.AccountPeople, user: "anna", opened: opened{at: at(8)}}, now)
	look(map[connection]traffic{at(3): {messages: 45_000, bytes: 40_000 << 12}, at(8): {bytes: 40_000 << 16}})
	require.Len(t, cut, 2)
	look(map[connection]traffic{at(3): {messages: 45_000, bytes: 40_001 << 12}, at(8): {bytes: 40_001 << 16}})
	require.ElementsMatch(t, []uint64{1, 2, 3, 8}, cut)
	c.came(arrival{account: subjects.AccountAgents, user: "edge", jwt: tokenOf(t, userKey(t), subjects.LeafPrefix+"edge"), kind: kindLeaf, opened: opened{at: at(7)}}, now)
	look(map[connection]traffic{at(7): {messages: sentByLeaf * 40_000}})
	require.Len(t, cut, 4)
	look(map[connection]traffic{at(7): {messages: sentByLeaf*40_000 + 1}})
	require.Equal(t, uint64(7), cut[4])
	now = now.Add(time.Hour)
	for user, id := range map[string]uint64{"mallory": 6, "oslo": 3, "edge": 7, "anna": 8} {
		c.left(user, at(id), traffic{}, now)
	}
	require.Empty(t, c.users, "who is gone is forgotten")
}

// What is sent between two looks has the time between them, however long that is; and what no server has is open no more, in whichever order
// that was heard.
func TestLooksMayBeFarApart(t *testing.T) {
	c, now := newCrowd(), time.Unix(1e9, 0)
	c.by(func([]connection) {})
	at := connection{"n1", 1}
	c.left("oslo", at, traffic{}, now) // heard before the next
	c.came(arrival{account: subjects.AccountAgents, user: "oslo", opened: opened{at: at, since: now}}, now)
	_, cut := c.look(seen{of: map[connection]traffic{at: {}}}, now)
	require.Empty(t, cut)
	now = now.Add(time.Minute)
	_, cut = c.look(seen{of: map[connection]traffic{at: {messages: 300_000}}}, now)
	require.Empty(t, cut)
	_, cut = c.look(seen{}, now)
	require.Empty(t, cut)
	require.Len(t, c.users["oslo"].open, 1, "not all servers said who is there")
	_, cut = c.look(seen{all: now.Add(-time.Minute)}, now)
	require.Empty(t, cut)
	require.Len(t, c.users["oslo"].open, 1, "it may have been opened while they were listed, however long that took")
	_, cut = c.look(seen{all: now}, now)
	require.Empty(t, cut)
	require.Empty(t, c.users["oslo"].open)
}

// Who does not take what they were sent is cut, and may come back at once.
func TestWhoTakesNothingIsCut(t *testing.T) {
	c, now := newCrowd(), time.Unix(1e9, 0)
	c.by(func([]connection) {})
	at := func(id uint64) connection { return connection{"n1", id} }
	c.came(arrival{account: subjects.AccountAgents, user: "slow", opened: opened{at: at(1)}}, now)
	c.came(arrival{account: subjects.AccountAgents, user: "slow", opened: opened{at: at(2)}}, now)
	c.came(arrival{account: subjects.AccountAgents, user: "edge", jwt: tokenOf(t, userKey(t), subjects.LeafPrefix+"edge"), kind: kindLeaf, opened: opened{at: at(3)}}, now)
	_, cut := c.look(seen{of: map[connection]traffic{at(1): {untaken: mostUntaken / 2}, at(2): {untaken: mostUntaken / 2}, at(3): {untaken: untakenByLeaf}}}, now)
	require.Empty(t, cut)
	_, cut = c.look(seen{of: map[connection]traffic{at(1): {untaken: mostUntaken/2 + 1}, at(2): {untaken: mostUntaken / 2}, at(3): {untaken: untakenByLeaf + 1}}}, now)
	require.ElementsMatch(t, []connection{at(1), at(2), at(3)}, cut)
	require.Equal(t, ExcessUntaken, c.crowds(now)[0].Excess)
	require.Empty(t, c.came(arrival{account: subjects.AccountAgents, user: "slow", opened: opened{at: at(4)}}, now))
}

// tokenOf are credentials of a user of a name.
func tokenOf(t *testing.T, user, name string) string {
	t.Helper()
	claims := jwt.NewUserClaims(user)
	claims.Name = name
	token, err := claims.Encode(signer(t))
	require.NoError(t, err)
	return token
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
