package bustest

import (
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"flotilla/bus"
)

// Cluster starts three servers that hold JetStream together, as an operator would run them.
func Cluster(t testing.TB, change ...func(*server.Options)) []*server.Server {
	t.Helper()
	var servers []*server.Server
	for _, o := range ClusterOptions(t) {
		for _, f := range change {
			f(o)
		}
		servers = append(servers, StartServer(t, o))
	}
	AwaitLeader(t, servers)
	return servers
}

// AwaitLeader waits until one of the servers leads, and knows of all.
func AwaitLeader(t testing.TB, servers []*server.Server) {
	t.Helper()
	EventuallyIn(t, 30*time.Second, func() error {
		for _, s := range servers {
			if s.JetStreamIsLeader() && len(s.JetStreamClusterPeers()) == len(servers) {
				return nil
			}
		}
		return fmt.Errorf("no leader of %d", len(servers))
	})
}

// ClusterOptions are those of three servers that know of each other.
func ClusterOptions(t testing.TB) []*server.Options {
	t.Helper()
	var routes []*url.URL
	for range 3 {
		routes = append(routes, &url.URL{Scheme: "nats", Host: net.JoinHostPort("127.0.0.1", FreePort(t))})
	}
	var all []*server.Options
	for i, route := range routes {
		port, err := strconv.Atoi(route.Port())
		require.NoError(t, err)
		all = append(all, &server.Options{
			ServerName: fmt.Sprintf("n%d", i), Host: "127.0.0.1", Port: -1, NoSigs: true, NoLog: true,
			JetStream: true, StoreDir: t.TempDir(), JetStreamMaxStore: 64 << 30, JetStreamMaxMemory: 1 << 28,
			Cluster: server.ClusterOpts{Name: "c", Host: "127.0.0.1", Port: port, PoolSize: -1},
			Routes:  routes, DisableJetStreamBanner: true,
		})
	}
	return all
}

// StartServer starts one of them, until the end of the test.
func StartServer(t testing.TB, o *server.Options) *server.Server {
	t.Helper()
	s, err := server.NewServer(o.Clone())
	require.NoError(t, err)
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	s.Start()
	return s
}

// HubOf connects to a cluster as a hub of fleet test.
func HubOf(t testing.TB, servers []*server.Server, o bus.Options) *bus.Conn {
	t.Helper()
	var urls []string
	for _, s := range servers {
		urls = append(urls, s.ClientURL())
	}
	o.Fleet, o.URL = "test", strings.Join(urls, ",")
	c, err := bus.ConnectHub(Context(t), o)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}
