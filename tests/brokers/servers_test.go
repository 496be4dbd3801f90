// Package brokers runs hubs and agents on NATS servers that are configured as an operator would, from
// configs/nats and the folder that `hub accounts` makes.
package brokers

import (
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/bus/server"
	"flotilla/tests/planted"
)

// fleetName is that of every fleet here.
const fleetName = "shop"

// system is some servers with the accounts of a fleet.
type system struct {
	testing.TB
	accounts string            // folder of hub accounts
	configs  map[string]string // paths, by server
	links    map[string]string // addresses for leaf nodes, by server
	running  map[string]*natsserver.Server
	urls     map[string]string
	agents   string         // their folders
	log      planted.Log    // of hubs and agents
	secret   *planted.Value // what is placed holds it
}

// newSystem makes accounts and starts a server for each of the configurations of configs/nats that are named.
func newSystem(t testing.TB, names ...string) *system {
	t.Helper()
	s := &system{
		TB: t, accounts: filepath.Join(t.TempDir(), "accounts"), configs: map[string]string{}, links: map[string]string{}, running: map[string]*natsserver.Server{}, urls: map[string]string{},
		agents: t.TempDir(), secret: planted.New(),
	}
	_, err := server.MakeAccounts(s.accounts, fleetName)
	require.NoError(t, err)
	routes := map[string]string{}
	var places []string
	for _, name := range names {
		routes[name] = local(bustest.FreePort(t))
		places = append(places, "nats://"+name+":6222", "nats://"+routes[name])
	}
	for _, name := range names {
		s.links[name] = local(bustest.FreePort(t))
		s.configs[name] = s.place(name+".conf", s.accounts, append(places, "0.0.0.0:6222", routes[name], "0.0.0.0:7422", s.links[name]))
	}
	for _, name := range names {
		s.start(name)
	}
	return s
}

func local(port string) string { return net.JoinHostPort("127.0.0.1", port) }

// place puts the configurations, and what was made beside them, into a folder, with addresses and folders of the test
// in the place of theirs, and returns the path of one.
func (s *system) place(config, made string, places []string) string {
	s.Helper()
	folder := s.TempDir()
	files, err := filepath.Glob("../../configs/nats/*.conf")
	require.NoError(s, err)
	own, err := filepath.Glob(filepath.Join(made, "*.conf"))
	require.NoError(s, err)
	places = append(places, "0.0.0.0:4222", local(bustest.FreePort(s)), "127.0.0.1:8222", local("-1"), "/var/lib/nats", s.TempDir(), "interval: 15s", "interval: 1s")
	whole := "nats://single:6222"
	for _, file := range append(files, own...) {
		text, err := os.ReadFile(file)
		require.NoError(s, err)
		whole += string(text)
		placed := strings.NewReplacer(places...).Replace(string(text))
		require.NoError(s, os.WriteFile(filepath.Join(folder, filepath.Base(file)), []byte(placed), 0o600))
	}
	for i := 0; i < len(places); i += 2 {
		require.Contains(s, whole, places[i], "the configurations have moved")
	}
	return filepath.Join(folder, config)
}

// leaf starts a leaf node for members, linked through a proxy to a server, and returns its URL.
func (s *system) leaf(to string, members ...string) (url string, link *bustest.Proxy) {
	s.Helper()
	link = bustest.ProxyTo(s, s.links[to])
	made := filepath.Join(s.TempDir(), "edge")
	_, err := server.MakeLeaf(s.accounts, made, server.Leaf{Name: "edge", URLs: []string{link.URL()}, Members: members})
	require.NoError(s, err)
	s.configs["edge"] = s.place("leaf.conf", made, []string{
		" agents.creds", " " + filepath.Join(made, "agents.creds"), " claims.creds", " " + filepath.Join(made, "claims.creds"),
	})
	servers := maps.Clone(s.urls)
	s.start("edge")
	url, s.urls = s.urls["edge"], servers
	return url, link
}

// start starts a server, also again.
func (s *system) start(name string) {
	s.Helper()
	options, err := natsserver.ProcessConfigFile(s.configs[name])
	require.NoError(s, err)
	options.NoSigs, options.NoLog = true, true
	started, err := natsserver.NewServer(options)
	require.NoError(s, err)
	started.Start()
	s.running[name] = started
	s.Cleanup(func() { s.stop(name) })
	require.True(s, started.ReadyForConnections(20*time.Second), name)
	s.urls[name] = started.ClientURL()
}

// stop stops a server at once.
func (s *system) stop(name string) {
	s.running[name].Shutdown()
	s.running[name].WaitForShutdown()
}

// url names servers, all of them without a name.
func (s *system) url(names ...string) string {
	var all []string
	for name, url := range s.urls {
		if len(names) == 0 || strings.Contains(fmt.Sprint(names), name) {
			all = append(all, url)
		}
	}
	return strings.Join(all, ",")
}
