package house

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"flotilla/agent/agentd"
	"flotilla/agent/target/memory"
	"flotilla/agent/target/memory/faults"
	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/server"
	"flotilla/bus/store"
	"flotilla/configs/secrets"
	"flotilla/hub/hubd"
	"flotilla/tests/elsewhen"
)

// newBrokerHouse is a house whose broker is not the hub's: two hubs compete on it.
func newBrokerHouse(t *testing.T, members ...string) (*house, *bustest.Server, []*hubd.Hub) {
	t.Helper()
	broker := bustest.Start(t, func(o *server.Options) { o.Fleet = "default" })
	var hubs []*hubd.Hub
	for _, name := range []string{"hub-a", "hub-b"} {
		hub, err := hubd.New(hubd.Options{
			Name: name, Issuing: hubd.Issuing{Issuer: broker.Issuer()}, Secrets: secrets.Source{Text: bustest.Secrets}, Log: zerolog.Nop(), Now: elsewhen.Now,
			Bus:  bus.Options{URL: broker.URL(), Creds: broker.HubCreds()},
			Lead: store.LeadOptions{TTL: 2 * time.Second, Renew: 500 * time.Millisecond, Margin: 500 * time.Millisecond, Poll: 200 * time.Millisecond},
		})
		require.NoError(t, err)
		require.NoError(t, hub.Start(t.Context()))
		t.Cleanup(hub.Stop)
		hubs = append(hubs, hub)
	}
	h := &house{now: elsewhen.Now, dir: t.TempDir(), url: broker.URL(), inspects: broker.InspectorCreds(), members: map[string]*memory.Member{}, agents: map[string]*agentd.Agent{}}
	client, err := bus.ConnectClient(bustest.Context(t), bus.Options{
		URL: broker.URL(), Creds: broker.OperatorCreds(), Name: "test", Log: zerolog.Nop(),
	})
	require.NoError(t, err)
	t.Cleanup(client.Close)
	h.client = client
	t.Cleanup(func() {
		for name := range h.agents {
			h.stopAgent(t, name)
		}
	})
	for _, name := range members {
		h.members[name] = memory.New(memory.Options{Name: name, Nodes: nodes(t), Clock: memory.Running(h.now)})
		t.Cleanup(h.members[name].Close)
		h.startAgent(t, name)
	}
	return h, broker, hubs
}

// The broker goes away for a moment in the middle of a rollout. Hubs, agents and client come back by
// themselves, and the rollout ends.
func TestBrokerIsRestartedInTheMiddleOfARollout(t *testing.T) {
	t.Parallel()
	h, broker, _ := newBrokerHouse(t, four...)
	h.apply(t, content("shop", "one")+pickAll("shop"))
	h.converged(t, "shop", 4)
	h.members["oslo"].SetFaults(faults.Faults{Slow: 300 * time.Millisecond})
	h.apply(t, content("shop", "two"))
	bustest.EventuallyIn(t, patience, func() error { return holds(h.members["berlin"], "shop", "two") })
	broker.Restart(t)
	h.converged(t, "shop", 4)
	for _, name := range four {
		require.NoError(t, holds(h.members[name], "shop", "two"))
		requireCleanHistory(t, h.members[name])
	}
}

// The leading hub stops; the other one takes over and goes on where it was.
func TestAnotherHubTakesOver(t *testing.T) {
	h, _, hubs := newBrokerHouse(t, "berlin", "paris")
	h.apply(t, content("shop", "one")+pickAll("shop"))
	h.converged(t, "shop", 2)
	for round, value := range []string{"two", "three"} {
		leading := leader(t, hubs)
		leading.Stop()
		h.apply(t, content("shop", value))
		bustest.EventuallyIn(t, patience, func() error { return holds(h.members["paris"], "shop", value) })
		h.converged(t, "shop", 2)
		if round == 0 {
			require.NoError(t, leading.Start(t.Context()))
		}
	}
	requireCleanHistory(t, h.members["berlin"])
	requireCleanHistory(t, h.members["paris"])
}

// leader waits for the hub that leads.
func leader(t *testing.T, hubs []*hubd.Hub) *hubd.Hub {
	t.Helper()
	var found *hubd.Hub
	bustest.EventuallyIn(t, patience, func() error {
		for _, hub := range hubs {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
			err := hub.WaitLeading(ctx)
			cancel()
			if err == nil {
				found = hub
				return nil
			}
		}
		return fmt.Errorf("none of %d hubs leads", len(hubs))
	})
	return found
}

// An agent process is killed with SIGKILL while the hub is away. Started again on its data directory,
// with the hub still away, it holds its placements again before anybody tells it to.
func TestAgentProcessIsKilled(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	token := filepath.Join(h.dir, "berlin.token")
	require.NoError(t, writeFile(token, []byte(h.token(t, "berlin").String())))
	metrics := "127.0.0.1:" + bustest.FreePort(t)
	agent := newProcess(t, agentBinary, "--token", "@"+token,
		"--data", filepath.Join(h.dir, "berlin"), "--heartbeat-interval", "1s", "--metrics-address", metrics)
	h.apply(t, "apiVersion: cluster.kubernetes-fleet.io/v1\nkind: MemberCluster\nmetadata: {name: berlin}\n")
	h.apply(t, content("shop", "one")+pickAll("shop"))
	h.converged(t, "shop", 1)

	h.hub.Kill()
	agent.Kill()
	agent.Start(t)
	bustest.EventuallyIn(t, patience, func() error { return metric(t, metrics, `flotilla_agent_placements{member="berlin"} 1`) })
	bustest.EventuallyIn(t, patience, func() error { return metric(t, metrics, `flotilla_agent_unreported_results{member="berlin"} 1`) })

	h.hub.Start(t)
	h.apply(t, content("shop", "two"))
	h.converged(t, "shop", 1)
	bustest.EventuallyIn(t, patience, func() error { return metric(t, metrics, `flotilla_agent_unreported_results{member="berlin"} 0`) })
}
