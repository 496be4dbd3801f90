package faults

import (
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/bus/server"
	"flotilla/subjects"
)

// brokerVariable makes the test binary a server of a cluster instead: it holds the path of a configuration.
const brokerVariable = "FLOTILLA_FAULTS_BROKER"

// brokerConfig is that of a server of a cluster, beside the accounts of the fleet: configs/nats for one machine.
const brokerConfig = `
server_name: %[1]s
listen: %[2]s
include accounts/accounts.conf
resolver { type: full, dir: "%[1]s/accounts", interval: 1s }
jetstream { store_dir: "%[1]s", max_file_store: 64G, max_memory_store: 256M, limits { default_max_consumers: -1 } }
cluster { name: faults, listen: %[3]s, routes: [%[4]s], pool_size: -1, no_advertise: true }
max_payload: 8MB
`

// broker is one server of a cluster, as an operator would run it.
type broker struct{ Name, Config, Address string }

// newBrokers makes the accounts of a fleet, in a folder of that name, and the configurations of three servers.
func newBrokers(t testing.TB, dir string) []broker {
	t.Helper()
	_, err := server.MakeAccounts(filepath.Join(dir, "accounts"), subjects.DefaultFleet)
	require.NoError(t, err)
	local := func() string { return net.JoinHostPort("127.0.0.1", bustest.FreePort(t)) }
	var routes, routesOf []string
	for range 3 {
		routes = append(routes, local())
		routesOf = append(routesOf, strconv.Quote("nats://"+routes[len(routes)-1]))
	}
	all := make([]broker, len(routes))
	for i := range all {
		name := fmt.Sprintf("broker-%d", i)
		all[i] = broker{Name: name, Config: filepath.Join(dir, name+".conf"), Address: local()}
		text := fmt.Sprintf(strings.ReplaceAll(brokerConfig, `"%[1]s`, `"`+dir+`/%[1]s`), name, all[i].Address, routes[i], strings.Join(routesOf, ", "))
		require.NoError(t, os.WriteFile(all[i].Config, []byte(text), 0o600))
	}
	return all
}

// serveBroker is main of a server; it returns after SIGTERM.
func serveBroker(config string) error {
	o, err := natsserver.ProcessConfigFile(config)
	if err != nil {
		return err
	}
	o.NoSigs, o.DisableJetStreamBanner = true, true
	s, err := natsserver.NewServer(o)
	if err != nil {
		return err
	}
	s.ConfigureLogger()
	s.Start()
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM)
	<-ended
	s.Shutdown()
	s.WaitForShutdown()
	return nil
}
