package brokers

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/server"
	"flotilla/core/api"
	"flotilla/core/health"
	"flotilla/subjects"
	"flotilla/tests/elsewhen"
)

// On servers of one's own, too, who sends without end is cut, and named.
func TestAnAgentThatSendsWithoutEndIsCutOnServersOfOnesOwn(t *testing.T) {
	s := newSystem(t, "single")
	h := s.hub("hub-1")
	require.NoError(t, h.WaitLeading(bustest.Context(t)))
	admin := s.admin()
	oslo, mallory := s.reader(t, "oslo"), s.reader(t, "mallory")
	subject, began := subjects.Fleet{Name: fleetName}.BucketSubject(subjects.Heartbeat, "mallory"), elsewhen.Now()
	for mallory.Publish(subject, []byte("{}")) == nil {
		require.Less(t, elsewhen.Since(began), time.Minute)
	}
	bustest.Eventually(t, func() error {
		for _, p := range ask[api.FleetStatus](t, admin, api.VerbStatus, nil).Problems {
			if p.Reason == health.ReasonMessages {
				require.Equal(t, "member/mallory sends more messages than anybody needs: its connections are cut, and new ones for ten seconds more", p.Object+" "+p.Message)
				return nil
			}
		}
		return errors.New("nobody is named")
	})
	require.NoError(t, oslo.Flush())
}

// On servers of one's own, too, the credentials of an agent take so many connections and subscriptions and no more, while a hub leads:
// on all servers of a cluster together.
func TestCredentialsTakeSoMuchOnServersOfOnesOwn(t *testing.T) {
	s := newSystem(t, "n1", "n2", "n3")
	s.whole(t)
	h := s.hub("hub-1")
	require.NoError(t, h.WaitLeading(bustest.Context(t)))
	accounts, err := server.OpenAccounts(s.accounts, bus.Options{Fleet: fleetName})
	require.NoError(t, err)
	user, err := nkeys.CreateUser()
	require.NoError(t, err)
	key, err := user.PublicKey()
	require.NoError(t, err)
	token, _, err := accounts.Issuer().Sign(subjects.RoleAgent, "mallory", key, 0)
	require.NoError(t, err)

	var all []*nats.Conn
	refused := make(chan error, 1024)
	for i := range 3 * server.AgentConnections {
		nc, err := nats.Connect(s.url(fmt.Sprintf("n%d", i%3+1)), nats.UserJWT(func() (string, error) { return token, nil }, user.Sign), nats.NoReconnect(),
			nats.CustomInboxPrefix(subjects.Inbox("mallory")), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { refused <- err }))
		require.NoError(t, err)
		t.Cleanup(nc.Close)
		all = append(all, nc)
	}
	var last *nats.Conn
	bustest.Eventually(t, func() error {
		open := 0
		for _, nc := range all {
			if !nc.IsClosed() {
				open, last = open+1, nc
			}
		}
		if open != server.AgentConnections {
			return fmt.Errorf("%d connections are open", open)
		}
		return nil
	})
	for i := range 2 * server.AgentSubscriptions {
		_, err := last.SubscribeSync(fmt.Sprint(subjects.Inbox("mallory"), ".", i))
		require.NoError(t, err)
	}
	require.NoError(t, last.Flush())
	bustest.Eventually(t, func() error {
		if len(refused) < server.AgentSubscriptions {
			return errors.New("not all that is beyond was refused")
		}
		return nil
	})
	require.Len(t, refused, server.AgentSubscriptions)
	require.ErrorIs(t, <-refused, nats.ErrMaxSubscriptionsExceeded)
}
