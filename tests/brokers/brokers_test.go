package brokers

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/subjects"
)

// A hub on a server of an operator's enrols members, adds people and revokes them there, for ever.
func TestOneServer(t *testing.T) {
	s := newSystem(t, "single")
	s.hub("hub-1")
	admin := s.admin()
	s.join(admin, "oslo", s.url())
	s.placed(admin, 1, 1)
	require.Equal(t, 1, s.replicas(t))

	anna, creds := s.person(admin, "anna", s.url())
	ask[api.FleetStatus](t, anna, api.VerbStatus, nil)
	answer := ask[api.UserRevokeResponse](t, admin, api.VerbUserRevoke, api.UserRevokeRequest{Name: "anna"})
	require.Nil(t, answer.Left)
	cut(t, anna)
	refused(t, s, s.url(), creds)
	require.True(t, ask[api.UserRevokeResponse](t, admin, api.VerbUserRevoke, api.UserRevokeRequest{Name: "anna"}).Unchanged)

	s.stop("single")
	s.start("single")
	refused(t, s, s.url(), creds)
	s.placed(admin, 2, 1)

	require.Nil(t, ask[api.MemberRevokeResponse](t, admin, api.VerbMemberRevoke, api.MemberRevokeRequest{Name: "oslo"}).Left)
	s.parted(t, "oslo")
}

// Three hubs on three servers keep three copies of everything; the next hub and the other servers go on when one
// of each is gone, and all servers refuse whom one hub revoked.
func TestThreeHubsOnThreeServers(t *testing.T) {
	s := newSystem(t, "n1", "n2", "n3")
	s.whole(t)
	hubs := map[string]interface{ Stop() }{}
	for i := range 3 {
		name := fmt.Sprintf("hub-%d", i+1)
		hubs[name] = s.hub(name)
	}
	admin := s.admin()
	s.join(admin, "oslo", s.url("n1"))
	s.join(admin, "rome", s.url())
	s.placed(admin, 1, 2)
	require.Equal(t, 3, s.replicas(t))

	people, creds := map[string]*bus.Conn{}, ""
	for _, at := range []string{"n1", "n2", "n3"} {
		people[at], creds = s.person(admin, "viewer-"+at, s.url(at))
		answer := ask[api.UserRevokeResponse](t, admin, api.VerbUserRevoke, api.UserRevokeRequest{Name: "viewer-" + at})
		require.Nil(t, answer.Left)
		cut(t, people[at])
	}
	for at := range people {
		refused(t, s, s.url(at), creds)
	}
	require.Nil(t, ask[api.MemberRevokeResponse](t, admin, api.VerbMemberRevoke, api.MemberRevokeRequest{Name: "rome"}).Left)
	s.parted(t, "rome")
	s.join(admin, "rome", s.url("n2"))
	s.placed(admin, 2, 2)
	first := ask[api.VersionResponse](t, admin, api.VerbVersion, nil).Leader
	hubs[first].Stop()
	s.placed(admin, 3, 2)
	require.NotEqual(t, first, ask[api.VersionResponse](t, admin, api.VerbVersion, nil).Leader)
	s.stop("n3")
	s.placed(admin, 4, 2)
	s.start("n3")
	refused(t, s, s.url("n3"), creds)
}

// parted waits until the agent of a member is connected to no server.
func (s *system) parted(t *testing.T, member string) {
	t.Helper()
	bustest.Eventually(t, func() error {
		if s.hasAgent(member) {
			return errors.New("the agent works on")
		}
		return nil
	})
}

// whole waits until the servers are one cluster.
func (s *system) whole(t testing.TB) {
	t.Helper()
	bustest.EventuallyIn(t, 30*time.Second, func() error {
		for _, server := range s.running {
			if server.JetStreamIsLeader() && len(server.JetStreamClusterPeers()) == len(s.running) {
				return nil
			}
		}
		return errors.New("no leader of all")
	})
}

// replicas is how many copies of state there are.
func (s *system) replicas(t *testing.T) int {
	t.Helper()
	hub, err := bus.ConnectHub(bustest.Context(t), s.reach(s.url(), s.accounts+"/hub.creds", ""))
	require.NoError(t, err)
	defer hub.Close()
	stream, err := hub.JS.Stream(bustest.Context(t), hub.Fleet.BucketStream(subjects.State))
	require.NoError(t, err)
	return stream.CachedInfo().Config.Replicas
}

// cut waits until a connection is.
func cut(t *testing.T, c *bus.Conn) {
	t.Helper()
	bustest.Eventually(t, func() error {
		if c.NC.IsConnected() {
			return errors.New("the connection goes on")
		}
		return nil
	})
}

// refused requires that servers do not take credentials.
func refused(t *testing.T, s *system, url, creds string) {
	t.Helper()
	_, err := bus.ConnectClient(bustest.Context(t), s.reach(url, "", creds))
	require.ErrorIs(t, err, bus.ErrDenied)
	require.ErrorIs(t, err, nats.ErrAuthorization)
}
