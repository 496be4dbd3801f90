package server_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"flotilla/bus/bustest"
	"flotilla/bus/server"
	"flotilla/core/api"
	"flotilla/subjects"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
	"github.com/stretchr/testify/require"
)

// held are connections of one user that nobody makes again; each says when a subscription of it was refused.
type held struct {
	conns   []*nats.Conn
	refused chan error
}

func hold(t *testing.T, url, inbox string, creds []byte, count int) *held {
	t.Helper()
	h := &held{refused: make(chan error, 1024)}
	for range count {
		nc, err := nats.Connect(url, nats.UserCredentialBytes(creds), nats.CustomInboxPrefix(inbox), nats.NoReconnect(),
			nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { h.refused <- err }))
		require.NoError(t, err)
		t.Cleanup(nc.Close)
		h.conns = append(h.conns, nc)
	}
	return h
}

// open is how many of them are open.
func (h *held) open() (open int) {
	for _, nc := range h.conns {
		if !nc.IsClosed() {
			open++
		}
	}
	return open
}

// stay waits until so many are open, and requires that they are the newest.
func (h *held) stay(t *testing.T, want int) {
	t.Helper()
	bustest.Eventually(t, func() error {
		if open := h.open(); open != want {
			return fmt.Errorf("%d connections are open, not %d", open, want)
		}
		return nil
	})
	for _, nc := range h.conns[len(h.conns)-want:] {
		require.NoError(t, nc.Flush(), "the newest stay")
	}
}

// Credentials of an agent and of a person take so many connections and so many subscriptions on each, and no more; nobody else loses
// any by that, also after the server was restarted.
func TestCredentialsTakeSoMuchAndNoMore(t *testing.T) {
	s := bustest.Start(t)
	agent := bustest.AgentCreds(t, s.Server, "mallory")
	person, _, err := s.PersonCreds("anna", api.RoleViewer, 0)
	require.NoError(t, err)
	other := hold(t, s.URL(), subjects.Inbox("oslo"), bustest.AgentCreds(t, s.Server, "oslo"), 1)
	for _, row := range []struct {
		name, inbox                string
		creds                      []byte
		connections, subscriptions int
	}{
		{"agent", subjects.Inbox("mallory"), agent, server.AgentConnections, server.AgentSubscriptions},
		{"person", subjects.PersonInbox("anna"), person, server.PersonConnections, server.PersonSubscriptions},
	} {
		h := hold(t, s.URL(), row.inbox, row.creds, 3*row.connections)
		h.stay(t, row.connections)
		last := h.conns[len(h.conns)-1]
		for i := range 2 * row.subscriptions {
			_, err := last.SubscribeSync(fmt.Sprint(row.inbox, ".", i))
			require.NoError(t, err)
		}
		require.NoError(t, last.Flush())
		bustest.Eventually(t, func() error {
			if len(h.refused) < row.subscriptions {
				return errors.New("not all that is beyond was refused")
			}
			return nil
		})
		require.Len(t, h.refused, row.subscriptions, row.name)
		require.ErrorIs(t, <-h.refused, nats.ErrMaxSubscriptionsExceeded)
	}
	told := map[string]int{}
	for _, crowd := range s.Crowds() {
		told[crowd.Account+" "+crowd.Name] = crowd.Most
	}
	require.Equal(t, map[string]int{"AGENTS mallory": server.AgentConnections, "PEOPLE anna": server.PersonConnections}, told)
	other.stay(t, 1)

	require.NoError(t, s.Server.Restart())
	hold(t, s.URL(), subjects.Inbox("mallory"), agent, 3*server.AgentConnections).stay(t, server.AgentConnections)
	require.NotEmpty(t, s.Crowds())
	s.Shutdown()
	require.Empty(t, s.Crowds(), "nobody is connected to a server that is down")
}

// Who sends without end is cut, and cut again where they come back; nobody else is.
func TestWhoSendsWithoutEndIsCut(t *testing.T) {
	s := bustest.Start(t)
	other := hold(t, s.URL(), subjects.Inbox("oslo"), bustest.AgentCreds(t, s.Server, "oslo"), 1)
	mallory := bustest.AgentCreds(t, s.Server, "mallory")
	subject := subjects.Fleet{Name: bustest.Fleet}.BucketSubject(subjects.Heartbeat, "mallory")
	h := hold(t, s.URL(), subjects.Inbox("mallory"), mallory, 2)
	began := time.Now()
	for h.conns[0].Publish(subject, []byte("{}")) == nil {
		require.Less(t, time.Since(began), time.Minute)
	}
	h.stay(t, 0)
	if again, err := nats.Connect(s.URL(), nats.UserCredentialBytes(mallory), nats.NoReconnect()); err == nil { // or it is cut before that returns
		(&held{conns: []*nats.Conn{again}}).stay(t, 0)
	}
	require.Equal(t, []server.Crowd{tooLoud("mallory")}, s.Crowds())
	other.stay(t, 1)
}

func tooLoud(member string) server.Crowd {
	return server.Crowd{Account: subjects.AccountAgents, Name: member, Most: server.AgentConnections, Excess: server.ExcessMessages}
}

// What a user sent counts also where they have left by the time that it is looked at, and what they were sent does not.
func TestWhoLeavesHasSentWhatTheySent(t *testing.T) {
	s := bustest.Start(t)
	creds, inbox := bustest.AgentCreds(t, s.Server, "oslo"), subjects.Inbox("oslo")
	oslo, hub := hold(t, s.URL(), inbox, creds, 1).conns[0], s.Hub(t)
	f := subjects.Fleet{Name: bustest.Fleet}
	came, err := oslo.SubscribeSync(f.Hints("oslo"))
	require.NoError(t, err)
	require.NoError(t, came.SetPendingLimits(-1, -1))
	require.NoError(t, oslo.Flush())
	for range 60_000 {
		require.NoError(t, hub.NC.Publish(f.Hint("oslo", subjects.CommandPlacement), []byte("much")))
	}
	bustest.Eventually(t, func() error {
		if pending, _, _ := came.Pending(); pending < 60_000 {
			return fmt.Errorf("%d came", pending)
		}
		return nil
	})
	oslo.Close()
	mallory := bustest.AgentCreds(t, s.Server, "mallory")
	bustest.Eventually(t, func() error {
		one, err := nats.Connect(s.URL(), nats.UserCredentialBytes(mallory), nats.NoReconnect())
		for range 5_000 {
			if err == nil {
				err = one.Publish(f.BucketSubject(subjects.Heartbeat, "mallory"), []byte("{}"))
			}
		}
		if err == nil {
			_ = one.Flush()
			one.Close()
		}
		if len(s.Crowds()) == 0 {
			return errors.New("nobody is named")
		}
		return nil
	})
	require.Equal(t, []server.Crowd{tooLoud("mallory")}, s.Crowds())
}

// A server takes so many connections, whoever's they are, and says who holds most. Those that have not said whose they are make room.
func TestAServerTakesSoManyConnections(t *testing.T) {
	s := bustest.Start(t, func(o *server.Options) { o.MaxConnections = 16 })
	hold(t, s.URL(), subjects.Inbox("oslo"), bustest.AgentCreds(t, s.Server, "oslo"), 2)
	require.Empty(t, s.Crowds())
	silent := bustest.Silent(t, s.Address(), 32)
	bustest.Eventually(t, func() error {
		crowds := s.Crowds()
		if len(crowds) != 1 || crowds[0].Unsaid < 10 {
			return fmt.Errorf("found %+v", crowds)
		}
		require.Equal(t, 16, crowds[0].Most)
		require.Equal(t, server.Holder{Account: subjects.AccountAgents, Name: "oslo", Open: 2}, crowds[0].First)
		return nil
	})
	bustest.Eventually(t, func() error {
		s.Shed()
		if len(s.Crowds()) > 0 {
			return errors.New("the server is full yet")
		}
		return nil
	})
	silent()
}

// Servers that others run take the limits of subscriptions from the accounts that they are given, also from issuers without scopes.
func TestCredentialsForServersOfOthersAreBounded(t *testing.T) {
	account, err := nkeys.CreateAccount()
	require.NoError(t, err)
	public, err := account.PublicKey()
	require.NoError(t, err)
	seed, err := account.Seed()
	require.NoError(t, err)
	issuer, err := server.NewIssuer(subjects.Fleet{Name: "shop"}, public, seed)
	require.NoError(t, err)
	user, err := nkeys.CreateUser()
	require.NoError(t, err)
	key, err := user.PublicKey()
	require.NoError(t, err)
	token, _, err := issuer.Sign(subjects.RoleAgent, "oslo", key, 0)
	require.NoError(t, err)
	claims, err := jwt.DecodeUserClaims(token)
	require.NoError(t, err)
	require.EqualValues(t, server.AgentSubscriptions, claims.Subs)
}

// The credentials of a person carry their limit too: on servers of others the account may have none.
func TestCredentialsOfPeopleAreBounded(t *testing.T) {
	s := bustest.Start(t)
	creds, _, err := s.PersonCreds("anna", api.RoleViewer, time.Hour)
	require.NoError(t, err)
	token, err := jwt.ParseDecoratedJWT(creds)
	require.NoError(t, err)
	claims, err := jwt.DecodeUserClaims(token)
	require.NoError(t, err)
	require.EqualValues(t, server.PersonSubscriptions, claims.Subs)
}
