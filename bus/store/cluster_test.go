package store_test

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/subjects"
)

// cluster starts three servers that hold JetStream together, as an operator would run them.
func cluster(t *testing.T, change ...func(*server.Options)) []*server.Server {
	t.Helper()
	var routes []*url.URL
	for range 3 {
		routes = append(routes, &url.URL{Scheme: "nats", Host: net.JoinHostPort("127.0.0.1", bustest.FreePort(t))})
	}
	var servers []*server.Server
	for i, route := range routes {
		port, err := strconv.Atoi(route.Port())
		require.NoError(t, err)
		o := &server.Options{
			ServerName: fmt.Sprintf("n%d", i), Host: "127.0.0.1", Port: -1, NoSigs: true, NoLog: true,
			JetStream: true, StoreDir: t.TempDir(), JetStreamMaxStore: 64 << 30, JetStreamMaxMemory: 1 << 28,
			Cluster: server.ClusterOpts{Name: "c", Host: "127.0.0.1", Port: port, PoolSize: -1},
			Routes:  routes, DisableJetStreamBanner: true,
		}
		for _, f := range change {
			f(o)
		}
		s, err := server.NewServer(o)
		require.NoError(t, err)
		t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
		s.Start()
		servers = append(servers, s)
	}
	bustest.EventuallyIn(t, 30*time.Second, func() error {
		for _, s := range servers {
			if s.JetStreamIsLeader() && len(s.JetStreamClusterPeers()) == 3 {
				return nil
			}
		}
		return errors.New("no leader of three")
	})
	return servers
}

// clusterHub connects to a cluster as a hub.
func clusterHub(t *testing.T, servers []*server.Server) *bus.Conn {
	t.Helper()
	var urls []string
	for _, s := range servers {
		urls = append(urls, s.ClientURL())
	}
	c, err := bus.ConnectHub(bustest.Context(t), bus.Options{Fleet: "test", URL: strings.Join(urls, ",")})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func TestThreeReplicas(t *testing.T) {
	c := clusterHub(t, cluster(t))
	leader := bustest.Lead(t, c, "hub-0", store.LeadOptions{})
	require.Empty(t, leader.Layout.Differences)
	require.Equal(t, 3, replicas(t, c, subjects.State), "a cluster of three keeps three replicas unless told otherwise")

	const writers, rounds = 8, 10
	began := time.Now()
	var running sync.WaitGroup
	errs := make(chan error, writers)
	for i := range writers {
		running.Go(func() { errs <- countUp(t.Context(), leader, fmt.Sprintf("p%d", i), rounds) })
	}
	running.Wait()
	t.Log(writers*rounds, "writes in", time.Since(began))
	for range writers {
		require.NoError(t, <-errs)
	}
	other := store.NewState(c)
	bustest.InBackground(t, other.Run)
	require.NoError(t, other.WaitSynced(bustest.Context(t)))
	for _, e := range store.TableOf[api.Schedule](other, subjects.Schedules).All() {
		require.EqualValues(t, rounds, e.Value.Generation)
		require.Equal(t, leader.State.Revision("schedule."+e.Name), e.Revision, "revisions are those of the server")
	}
	takeOver(t, c)
	_, err := leader.Writer.Write(bustest.Context(t), store.Put("schedule.x", bustest.Schedule("x", 1), 0))
	require.ErrorIs(t, err, bus.ErrDeposed)
}
