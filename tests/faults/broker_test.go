package faults

import (
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
)

// brokerVariable makes the test binary a server of a cluster instead: it holds a broker.
const brokerVariable = "FLOTILLA_FAULTS_BROKER"

// broker is one server of a cluster, as an operator would run it.
type broker struct {
	Name, Dir   string
	Port, Route int
	Routes      []int // of all servers
}

func newBrokers(t testing.TB, dir string) []broker {
	t.Helper()
	port := func() int {
		n, err := strconv.Atoi(bustest.FreePort(t))
		require.NoError(t, err)
		return n
	}
	all := make([]broker, 3)
	var routes []int
	for i := range all {
		name := fmt.Sprintf("broker-%d", i)
		all[i] = broker{Name: name, Dir: filepath.Join(dir, name), Port: port(), Route: port()}
		routes = append(routes, all[i].Route)
	}
	for i := range all {
		all[i].Routes = routes
	}
	return all
}

func (b broker) String() string {
	text, _ := json.Marshal(b) // names and numbers always marshal
	return string(text)
}

func (b broker) address() string { return at(b.Port) }

func at(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// serveBroker is main of a server; it returns after SIGTERM.
func serveBroker(text string) error {
	var b broker
	if err := json.Unmarshal([]byte(text), &b); err != nil {
		return err
	}
	o := &server.Options{
		ServerName: b.Name, Host: "127.0.0.1", Port: b.Port, NoSigs: true, MaxPayload: 8 << 20,
		JetStream: true, StoreDir: b.Dir, JetStreamMaxStore: 64 << 30, JetStreamMaxMemory: 1 << 28, DisableJetStreamBanner: true,
		Cluster: server.ClusterOpts{Name: "faults", Host: "127.0.0.1", Port: b.Route, PoolSize: -1, NoAdvertise: true},
	}
	for _, port := range b.Routes {
		o.Routes = append(o.Routes, &url.URL{Scheme: "nats", Host: at(port)})
	}
	s, err := server.NewServer(o)
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
