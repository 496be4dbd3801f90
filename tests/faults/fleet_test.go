package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/configs/terminal"
	"flotilla/core/api"
	"flotilla/tests/rig"
)

const patience = 90 * time.Second

var memberNames = []string{"berlin", "oslo", "paris"}

// agentConfig is that of every agent: its member is kept on disk, where everybody can look at it, and takes a
// while to become ready, so that updates take one.
const agentConfig = `
member: %s
target: {type: memory, memory: {keep: true, readyAfter: 150ms, mostGrace: 20ms}}
nodes: {enabled: false}
`

// fleet is a hub or two, brokers, and three members, all of them processes.
type fleet struct {
	dir string
	env []string // of hubs and agents
	// processes by name: hub-0, hub-1, broker-0 to broker-2, agent-berlin and so on.
	processes map[string]*victim
	clients   *bustest.Proxy
	agents    *bustest.Proxy
	address   string        // of the only hub's server, beside all proxies
	creds     string        // of the operator
	servers   []string      // of a cluster, HOST:PORT
	secrets   string        // of its hubs
	disk      *bustest.Disk // of the hub; nil for any
	// mend makes everything again that the hub may have lost, beside what it told of: what members hold of it would stay there otherwise,
	// because a hub takes away only what it knows of.
	mend func(t testing.TB, told string)
}

// victim is a process, for one fault at a time.
type victim struct {
	*rig.Process
	mu sync.Mutex
}

// rehearsal are waits of campaigns: long enough for machines that are busy, short for who looks on.
var rehearsal = []string{terminal.Lease + "=3s", terminal.Reconnect + "=200ms"}

// startFleet starts a fleet in a mode, with variables for its programs, its hub on a disk where one is given, admits its
// members, and returns when they are ready.
func startFleet(t testing.TB, mode string, env []string, disk *bustest.Disk) *fleet {
	t.Helper()
	f := &fleet{dir: t.TempDir(), env: env, processes: map[string]*victim{}, disk: disk}
	if mode == modeCluster {
		f.startCluster(t)
	} else {
		f.startSingle(t)
	}
	client := f.connect(t, "setup")
	defer client.Close()
	for _, member := range memberNames {
		f.startAgent(t, client, member)
	}
	for _, member := range memberNames {
		f.ready(t, client, member)
	}
	return f
}

func (f *fleet) run(t testing.TB, name, binary string, args ...string) {
	t.Helper()
	f.processes[name] = &victim{Process: rig.Start(t, f.env, binary, args...)}
}

// startSingle starts one hub with a server of its own.
func (f *fleet) startSingle(t testing.TB) {
	t.Helper()
	port := bustest.FreePort(t)
	f.run(t, "hub-0", hubBinary, "--data", f.data(), "--port", port, "--log-level", "info", "--deletion-timeout", "5s")
	f.creds = filepath.Join(f.data(), "operator.creds")
	f.address = "127.0.0.1:" + port
	f.clients, f.agents = bustest.ProxyTo(t, f.address), bustest.ProxyTo(t, f.address)
}

func (f *fleet) data() string {
	if f.disk != nil {
		return filepath.Join(f.disk.Dir, "hub")
	}
	return filepath.Join(f.dir, "hub")
}

// startCluster starts three servers and two hubs.
func (f *fleet) startCluster(t testing.TB) {
	t.Helper()
	var urls []string
	for _, b := range newBrokers(t, f.dir) {
		f.processes[b.Name] = &victim{Process: rig.Start(t, []string{brokerVariable + "=" + b.Config}, os.Args[0])}
		f.servers = append(f.servers, b.Address)
		urls = append(urls, "nats://"+b.Address)
	}
	f.secrets = bustest.SecretsFile(t)
	for _, name := range []string{"hub-0", "hub-1"} {
		f.runHub(t, name, strings.Join(urls, ","))
	}
	f.creds = filepath.Join(f.accounts(), "operator.creds")
	f.clients, f.agents = bustest.ProxyTo(t, f.servers...), bustest.ProxyTo(t, slices.Concat(f.servers[1:], f.servers[:1])...)
}

// runHub starts a hub of a cluster.
func (f *fleet) runHub(t testing.TB, name, urls string) {
	t.Helper()
	f.run(t, name, hubBinary, "--url", urls, "--accounts", f.accounts(), "--secrets", f.secrets, "--log-level", "info", "--deletion-timeout", "5s")
}

func (f *fleet) accounts() string { return filepath.Join(f.dir, "accounts") }

// connect waits until it is connected as the operator, through the proxy of clients.
func (f *fleet) connect(t testing.TB, name string) *bus.Conn {
	t.Helper()
	var client *bus.Conn
	bustest.EventuallyIn(t, patience, func() (err error) {
		client, err = bus.ConnectClient(bustest.Context(t), bus.Options{URL: f.clients.URL(), Creds: f.creds, Name: name, Log: zerolog.Nop()})
		return err
	})
	return client
}

func (f *fleet) startAgent(t testing.TB, client *bus.Conn, member string) {
	t.Helper()
	require.NoError(t, os.WriteFile(f.agentConfig(member), fmt.Appendf(nil, agentConfig, member), 0o600))
	args, err := f.enrol(t.Context(), client, member)
	require.NoError(t, err)
	f.run(t, agentOf(member), agentBinary, args...)
	require.NoError(t, admit(t.Context(), client, member, "admit-"+member))
}

func agentOf(member string) string { return "agent-" + member }

func (f *fleet) agentConfig(member string) string { return filepath.Join(f.dir, member+".yaml") }

// enrol returns what an agent is started with, a token of its own included.
func (f *fleet) enrol(ctx context.Context, client *bus.Conn, member string) ([]string, error) {
	var enrolled api.EnrolResponse
	err := bus.Request(ctx, client, api.VerbEnrol, api.EnrolRequest{Name: member}, &enrolled, bus.RequestOptions{})
	return []string{
		"--config", f.agentConfig(member), "--url", f.agents.URL(),
		"--data", f.folder(member), "--heartbeat-interval", "1s", "--log-level", "info", "--token", enrolled.Token.String(),
	}, err
}

// enrolAnew gives an agent another token: the hub has lost what it registered with the one before.
func (f *fleet) enrolAnew(t testing.TB, ctx context.Context, client *bus.Conn, member string) error {
	args, err := f.enrol(ctx, client, member)
	if err != nil {
		return err
	}
	v := f.processes[agentOf(member)]
	v.mu.Lock()
	defer v.mu.Unlock()
	v.StartWith(t, args...)
	return nil
}

func admit(ctx context.Context, client *bus.Conn, member, request string) error {
	admitted := fmt.Sprintf(`{"apiVersion":"cluster.kubernetes-fleet.io/v1","kind":"MemberCluster","metadata":{"name":%q}}`, member)
	r := api.ApplyRequest{Request: request, Documents: []json.RawMessage{json.RawMessage(admitted)}}
	return bus.Request(ctx, client, api.VerbApply, r, nil, bus.RequestOptions{})
}

func (f *fleet) folder(member string) string { return filepath.Join(f.dir, "agents", member) }

// ready waits until the hub takes a member for ready.
func (f *fleet) ready(t testing.TB, client *bus.Conn, member string) {
	t.Helper()
	bustest.EventuallyIn(t, patience, func() error {
		var m api.MemberCluster
		err := bus.Request(t.Context(), client, api.VerbGet, api.GetRequest{Kind: api.KindMemberCluster, Name: member}, &m, bus.RequestOptions{})
		if err == nil && (m.Status == nil || m.Status.State != api.MemberReady) {
			err = fmt.Errorf("%s is %+v", member, m.Status)
		}
		return err
	})
}

// heal ends all faults.
func (f *fleet) heal() {
	f.clients.Release()
	f.agents.Release()
}
