package server_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
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

// patience is for how long an answer is waited for that does come.
const patience = 10 * time.Second

// credsOfRole makes credentials of a role and says which key they are for.
func credsOfRole(t *testing.T, server *bustest.Server, role, member string) (creds []byte, key string) {
	t.Helper()
	pair, err := nkeys.CreateUser()
	require.NoError(t, err)
	key, err = pair.PublicKey()
	require.NoError(t, err)
	token, _, err := server.Issuer().Sign(role, member, key, 0)
	require.NoError(t, err)
	seed, err := pair.Seed()
	require.NoError(t, err)
	creds, err = jwt.FormatUserConfig(token, seed)
	require.NoError(t, err)
	return creds, key
}

func TestARevokedKeyIsCutAtOnceAndStaysRevoked(t *testing.T) {
	server := bustest.Start(t)
	store := server.Lead(t)
	berlin, key := credsOfRole(t, server, subjects.RoleAgent, "berlin")
	oslo, other := credsOfRole(t, server, subjects.RoleAgent, "oslo")
	cut := make(chan struct{})
	_, err := nats.Connect(server.URL(), nats.UserCredentialBytes(berlin), nats.NoReconnect(),
		nats.ClosedHandler(func(*nats.Conn) { close(cut) }))
	require.NoError(t, err)
	stays, err := nats.Connect(server.URL(), nats.UserCredentialBytes(oslo), nats.CustomInboxPrefix(subjects.Inbox("oslo")))
	require.NoError(t, err)
	t.Cleanup(stays.Close)

	require.NoError(t, server.Revoke(subjects.AccountAgents, key))
	bustest.Within(t, cut, "the end of the connection")
	_, err = nats.Connect(server.URL(), nats.UserCredentialBytes(berlin))
	require.ErrorIs(t, err, nats.ErrAuthorization)
	require.True(t, stays.IsConnected(), "and nobody else")
	_, err = stays.Request(store.Conn.Fleet.BucketSubject(subjects.Heartbeat, "oslo"), []byte("{}"), patience)
	require.NoError(t, err, "what crosses the accounts still does")

	require.NoError(t, server.Revoke(subjects.AccountAgents, key), "again is nothing new")
	require.True(t, server.Revoked(subjects.AccountAgents, key))
	require.False(t, server.Revoked(subjects.AccountAgents, other))
	server.Restart(t)
	require.True(t, server.Revoked(subjects.AccountAgents, key))
	_, err = nats.Connect(server.URL(), nats.UserCredentialBytes(berlin))
	require.ErrorIs(t, err, nats.ErrAuthorization)
	again, err := nats.Connect(server.URL(), nats.UserCredentialBytes(oslo))
	require.NoError(t, err)
	again.Close()
}

// A server that a hub starts again in the same process, as after a full disk, goes by what was revoked since.
func TestARevokedKeyStaysRevokedWhenTheServerIsStartedAgain(t *testing.T) {
	server := bustest.Start(t)
	creds, key := credsOfRole(t, server, subjects.RoleAgent, "berlin")
	require.NoError(t, server.Revoke(subjects.AccountAgents, key))
	require.NoError(t, server.Server.Restart())
	_, err := nats.Connect(server.URL(), nats.UserCredentialBytes(creds))
	require.ErrorIs(t, err, nats.ErrAuthorization)
}

// Many who come at once while a server starts are all held against what it refuses, the first as the last.
func TestNobodyWhoIsRevokedGetsInWhileTheServerStarts(t *testing.T) {
	server := bustest.Start(t)
	creds, key := credsOfRole(t, server, subjects.RoleAgent, "berlin")
	require.NoError(t, server.Revoke(subjects.AccountAgents, key))
	url := server.URL()
	for range 20 {
		server.Stop(t)
		var (
			connecting sync.WaitGroup
			letIn      atomic.Int32
		)
		for range 30 {
			connecting.Go(func() {
				for err := error(nil); !errors.Is(err, nats.ErrAuthorization); {
					var nc *nats.Conn
					if nc, err = nats.Connect(url, nats.UserCredentialBytes(creds), nats.NoReconnect()); err == nil {
						letIn.Add(1)
						nc.Close()
					}
				}
			})
		}
		server.Restart(t)
		connecting.Wait()
		require.Zero(t, letIn.Load(), "connections of the key")
	}
}

// Somebody whose agents connect all the time is left no connection: not even one that the server lets in while it is
// told.
func TestWhoConnectsWhileTheirKeyIsRevokedIsCut(t *testing.T) {
	server := bustest.Start(t)
	for round := range 40 {
		creds, key := credsOfRole(t, server, subjects.RoleAgent, "berlin")
		c := &crowd{creds: creds, url: server.URL(), many: make(chan struct{})}
		var connecting sync.WaitGroup
		for range 30 {
			connecting.Go(func() { c.connect(bustest.Context(t)) })
		}
		bustest.Within(t, c.many, "many connections")
		c.stay.Store(true)
		require.NoError(t, server.Revoke(subjects.AccountAgents, key))
		connecting.Wait()
		for _, closed := range c.stayed {
			bustest.Within(t, closed, fmt.Sprintf("round %d: the end of a connection", round))
		}
	}
}

// crowd are connections by the same credentials.
type crowd struct {
	creds []byte
	url   string
	stay  atomic.Bool // otherwise each is closed at once
	made  atomic.Int32
	many  chan struct{} // closed once there were

	mu     sync.Mutex
	stayed []<-chan struct{}
}

// connect connects again and again, until it is refused.
func (c *crowd) connect(ctx context.Context) {
	for ctx.Err() == nil {
		closed := make(chan struct{})
		nc, err := nats.Connect(c.url, nats.UserCredentialBytes(c.creds), nats.NoReconnect(), nats.ClosedHandler(func(*nats.Conn) { close(closed) }))
		switch {
		case errors.Is(err, nats.ErrAuthorization):
			return
		case err != nil: // cut while it was made
		case c.stay.Load():
			c.mu.Lock()
			c.stayed = append(c.stayed, closed)
			c.mu.Unlock()
		default:
			nc.Close()
		}
		if c.made.Add(1) == 60 {
			close(c.many)
		}
	}
}

func TestOnlyUsersOfAnAccountCanBeRevoked(t *testing.T) {
	server := bustest.Start(t)
	_, key := credsOfRole(t, server, subjects.RoleAgent, "berlin")
	require.ErrorContains(t, server.Revoke("NONE", key), `there is no account "NONE"`)
	require.ErrorContains(t, server.Revoke(subjects.AccountAgents, "berlin"), "which begins with U")
}

// A member that nobody admitted may be heard and may ask, and nothing else of it is stored.
func TestAnAgentThatNobodyAdmittedCanOnlyBeHeard(t *testing.T) {
	server := bustest.Start(t)
	store := server.Lead(t)
	f := store.Conn.Fleet
	asked, err := store.Conn.NC.SubscribeSync(f.Enrolment("*"))
	require.NoError(t, err)
	require.NoError(t, store.Conn.NC.Flush())
	for _, role := range []string{subjects.RoleJoining, subjects.RoleEnrolling} {
		creds, _ := credsOfRole(t, server, role, "berlin")
		refusals := make(chan error, 64)
		nc, err := nats.Connect(server.URL(), nats.UserCredentialBytes(creds), nats.CustomInboxPrefix(subjects.Inbox("berlin")),
			nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { refusals <- err }))
		require.NoError(t, err)
		t.Cleanup(nc.Close)
		for name, subject := range foreignTo(f) {
			require.NoError(t, nc.PublishRequest(subject, subjects.Inbox("berlin")+".r", []byte("forged")))
			require.ErrorContains(t, bustest.Within(t, refusals, role+": "+name), "Permissions Violation for Publish", "%s: %s", role, name)
		}
		for _, subject := range []string{f.Hint("berlin", "*"), f.Enrolment("berlin"), subjects.Inbox("paris") + ".>", ">"} {
			_, err := nc.SubscribeSync(subject)
			require.NoError(t, err)
			require.ErrorContains(t, bustest.Within(t, refusals, role+": "+subject), "Permissions Violation for Subscription", "%s: %s", role, subject)
		}
		own := f.BucketSubject(subjects.Heartbeat, "berlin")
		if role == subjects.RoleJoining {
			_, err = nc.Request(own, []byte("{}"), patience)
			require.NoError(t, err, "its heartbeat is stored")
		} else {
			require.NoError(t, nc.Publish(own, []byte("{}")))
			require.ErrorContains(t, bustest.Within(t, refusals, own), "Permissions Violation for Publish")
		}
		require.NoError(t, nc.Publish(f.Enrolment("berlin"), []byte(role)))
		request, err := asked.NextMsg(patience)
		require.NoError(t, err)
		require.Equal(t, role, string(request.Data))
	}
	bustest.Eventually(t, func() error {
		if heard := store.Heartbeats.Keys(""); !slices.Equal(heard, []string{"berlin"}) {
			return fmt.Errorf("heartbeats of %q", heard)
		}
		return nil
	})
	require.Empty(t, store.Results.Keys(""))
	require.Empty(t, store.Inventories.Keys(""))
}

// foreignTo are subjects that an agent whom nobody admitted has no business with, its own among them.
func foreignTo(f subjects.Fleet) map[string]string {
	return map[string]string{
		"another's heartbeat":   f.BucketSubject(subjects.Heartbeat, "paris"),
		"all heartbeats":        f.BucketSubject(subjects.Heartbeat, "*"),
		"its result":            f.BucketSubject(subjects.Result, subjects.ResultSlotKey("berlin", 0)),
		"its node":              f.NodeEvent("berlin", "n1"),
		"its inventory":         f.Inventory("berlin"),
		"its command":           subjects.DirectGet(f.Stream(subjects.Commands), f.Command("berlin", "placement")),
		"content":               subjects.DirectGet(f.BucketStream(subjects.Content), f.BucketSubject(subjects.Content, "*")),
		"events":                subjects.DirectGet(f.Stream(subjects.Events), f.NodeEvent("berlin", "n1")),
		"another's enrolment":   f.Enrolment("paris"),
		"everybody's enrolment": f.Enrolment("*"),
		"records":               f.BucketSubject(subjects.State, "schedule.web"),
		"the hub's service":     f.API(api.RoleAdmin, "admin", api.VerbApply),
		"another's inbox":       subjects.Inbox("paris") + ".x",
	}
}

func TestAnIssuerWithoutScopedKeysWritesPermissionsIntoTheCredentials(t *testing.T) {
	account, err := nkeys.CreateAccount()
	require.NoError(t, err)
	public, err := account.PublicKey()
	require.NoError(t, err)
	seed, err := account.Seed()
	require.NoError(t, err)
	f := subjects.Fleet{Name: bustest.Fleet}
	issuer, err := server.NewIssuer(f, public, seed)
	require.NoError(t, err)
	user, err := nkeys.CreateUser()
	require.NoError(t, err)
	key, err := user.PublicKey()
	require.NoError(t, err)
	for _, role := range subjects.AgentRoles() {
		token, ends, err := issuer.Sign(role, "berlin", key, 0)
		require.NoError(t, err)
		require.Zero(t, ends)
		claims, err := jwt.DecodeUserClaims(token)
		require.NoError(t, err)
		want := f.RolePermissions(role, "berlin")
		require.ElementsMatch(t, want.Publish, claims.Pub.Allow, role)
		require.ElementsMatch(t, want.Subscribe, claims.Sub.Allow, role)
		require.Less(t, len(token), 3<<10, "it goes into a line of 4 KiB")
	}
}
