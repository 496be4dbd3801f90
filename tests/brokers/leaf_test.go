package brokers

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/bus/server"
	"flotilla/subjects"
)

// An agent behind a leaf node joins, applies and reports as others do, and goes on after the link was cut. The leaf
// node speaks for nobody but its members.
func TestAnAgentBehindALeafNode(t *testing.T) {
	s := newSystem(t, "single")
	s.hub("hub-1")
	admin := s.admin()
	edge, link := s.leaf("single", "oslo", "bergen")
	s.join(admin, "oslo", edge)
	s.join(admin, "rome", s.url())
	s.placed(admin, 1, 2)
	link.Cut()
	s.placed(admin, 2, 2)

	own, foreign := s.agent(t, edge, s.agentCreds(t, "bergen")), s.agent(t, edge, s.agentCreds(t, "rome"))
	f := subjects.Fleet{Name: fleetName}
	for _, read := range []string{"placement", "upgrade"} {
		answer, err := own.Request(subjects.DirectGet(f.Stream(subjects.Commands), f.Command("bergen", read)), nil, 10*time.Second)
		require.NoError(t, err)
		require.Contains(t, []string{"", "404"}, answer.Header.Get("Status"), "the servers answer")
	}
	answer, err := foreign.Request(subjects.DirectGet(f.Stream(subjects.Commands), f.Command("rome", "placement")), nil, 10*time.Second)
	require.ErrorIs(t, err, nats.ErrNoResponders, "%v", answer)
	_, err = foreign.Request(f.BucketSubject(subjects.Heartbeat, "rome"), []byte("{}"), 10*time.Second)
	require.ErrorIs(t, err, nats.ErrNoResponders)
}

// A key that is revoked is refused by the leaf node, also when the link was cut meanwhile.
func TestALeafNodeRefusesWhoWasRevoked(t *testing.T) {
	s := newSystem(t, "single")
	edge, link := s.leaf("single", "oslo", "bergen")
	accounts, err := server.OpenAccounts(s.accounts, s.reach(s.url(), "", ""))
	require.NoError(t, err)
	for member, away := range map[string]bool{"oslo": false, "bergen": true} {
		creds := s.agentCreds(t, member)
		agent := s.agent(t, edge, creds)
		if away {
			link.HoldRequests()
			link.Cut()
			link.HoldRequests()
		}
		require.NoError(t, accounts.Revoke(subjects.AccountAgents, keyOf(t, creds)))
		link.Release()
		bustest.EventuallyIn(t, time.Minute, func() error {
			if agent.IsConnected() {
				return fmt.Errorf("the leaf node goes on to hear %s", member)
			}
			return nil
		})
		_, err := nats.Connect(edge, nats.UserCredentialBytes([]byte(creds)))
		require.ErrorIs(t, err, nats.ErrAuthorization)
	}
}

// agentCreds are credentials of the agent of a member that was admitted.
func (s *system) agentCreds(t *testing.T, member string) string {
	t.Helper()
	accounts, err := server.OpenAccounts(s.accounts, s.reach("", "", ""))
	require.NoError(t, err)
	user, err := nkeys.CreateUser()
	require.NoError(t, err)
	key, err := user.PublicKey()
	require.NoError(t, err)
	token, _, err := accounts.Issuer().Sign(subjects.RoleAgent, member, key, 0)
	require.NoError(t, err)
	seed, err := user.Seed()
	require.NoError(t, err)
	text, err := jwt.FormatUserConfig(token, seed)
	require.NoError(t, err)
	return string(text)
}

// agent connects with nothing but the credentials of an agent, once its server is linked.
func (s *system) agent(t *testing.T, url, creds string) *nats.Conn {
	t.Helper()
	token, err := jwt.ParseDecoratedJWT([]byte(creds))
	require.NoError(t, err)
	claims, err := jwt.DecodeUserClaims(token)
	require.NoError(t, err)
	nc, err := nats.Connect(url, nats.UserCredentialBytes([]byte(creds)), nats.CustomInboxPrefix(subjects.Inbox(claims.Name)), nats.IgnoreAuthErrorAbort())
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	bustest.EventuallyIn(t, 30*time.Second, func() error {
		if s.running["edge"].NumLeafNodes() != 2 {
			return errors.New("the leaf node is not linked")
		}
		return nil
	})
	return nc
}

// keyOf is the public key of credentials.
func keyOf(t *testing.T, creds string) string {
	t.Helper()
	token, err := jwt.ParseDecoratedJWT([]byte(creds))
	require.NoError(t, err)
	claims, err := jwt.DecodeUserClaims(token)
	require.NoError(t, err)
	return claims.Subject
}
