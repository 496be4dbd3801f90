package brokers

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/bus/server"
	"flotilla/core/api"
	"flotilla/core/health"
	"flotilla/hub/hubd"
)

const breaks = "nats-server 2.12.7 breaks what Flotilla promises: a power cut may lose what was acknowledged, also with sync_interval: always; run 2.14.6 or newer"

// A hub names the server that it is connected to where its version breaks a promise, and goes on; and no longer once it is another one.
func TestAServerWhoseVersionBreaksAPromiseIsNamed(t *testing.T) {
	s := newSystem(t, "single")
	way := bustest.ProxyTo(t, strings.TrimPrefix(s.url(), "nats://"))
	way.Pretend("2.12.7")
	o := s.hubOptions("hub-1")
	o.Bus.URL = way.URL()
	h, err := hubd.New(o)
	require.NoError(t, err)
	require.NoError(t, h.Start(bustest.Context(t)))
	t.Cleanup(h.Stop)
	admin := s.admin()
	named := func() (problems []api.Problem) {
		answer := ask[api.FleetStatus](t, admin, api.VerbStatus, nil)
		for i := range answer.Problems {
			if p := answer.Problems[i]; p.Reason == health.ReasonServerVersion {
				require.False(t, p.Since.IsZero())
				p.Since.Reset()
				problems = append(problems, p)
			}
		}
		return problems
	}
	require.NoError(t, h.WaitLeading(bustest.Context(t)))
	name := s.running["single"].Name()
	require.Equal(t, []api.Problem{{Object: "server/" + name, Reason: health.ReasonServerVersion, Message: breaks, Next: "nats server list"}}, named())

	way.Pretend("")
	way.Cut()
	bustest.Eventually(t, func() error {
		if found := named(); len(found) > 0 {
			return fmt.Errorf("%v is named still", found)
		}
		return nil
	})
}

// A strict hub starts with no such server, and ends when it comes to one.
func TestAStrictHubHasNoServerThatBreaksAPromise(t *testing.T) {
	s := newSystem(t, "single")
	way := bustest.ProxyTo(t, strings.TrimPrefix(s.url(), "nats://"))
	o := s.hubOptions("hub-1")
	o.Bus.URL, o.Policy.StrictServers = way.URL(), true
	says := fmt.Sprintf("--strict-servers: server/%s: %s", s.running["single"].Name(), breaks)
	way.Pretend("2.12.7")
	h, err := hubd.New(o)
	require.NoError(t, err)
	require.EqualError(t, h.Start(bustest.Context(t)), "starting the hub, connection: "+says)

	way.Pretend("")
	h, err = hubd.New(o)
	require.NoError(t, err)
	require.NoError(t, h.Start(bustest.Context(t)))
	t.Cleanup(h.Stop)
	require.NoError(t, h.WaitLeading(bustest.Context(t)))
	way.Pretend("2.12.7")
	way.Cut()
	require.EqualError(t, h.Serve(bustest.Context(t)), says)
}

// The hub that leads learns the versions of all servers of a cluster.
func TestServersSayTheirVersions(t *testing.T) {
	s := newSystem(t, "n1", "n2", "n3")
	s.whole(t)
	accounts, err := server.OpenAccounts(s.accounts, s.reach(s.url("n1"), "", ""))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	kept := make(chan error, 1)
	go func() { kept <- accounts.Keep(ctx, func(string) []string { return nil }) }()
	bustest.EventuallyIn(t, 30*time.Second, func() error {
		var found []string
		for _, met := range accounts.Servers() {
			found = append(found, met.Name+" "+met.Version)
		}
		if want := fmt.Sprintf("[n1 %[1]s n2 %[1]s n3 %[1]s]", natsserver.VERSION); fmt.Sprint(found) != want {
			return fmt.Errorf("found %v, expected %s", found, want)
		}
		return nil
	})
	cancel()
	require.NoError(t, <-kept)
}
