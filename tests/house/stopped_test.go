package house

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/server"
	"flotilla/core/api"
	"flotilla/tests/rig"
)

// newRivals is a broker with two hub processes on it, the first of which leads.
func newRivals(t *testing.T) (first, second *rig.Process, h *house) {
	t.Helper()
	broker := bustest.Start(t, func(o *server.Options) { o.Fleet = "default" })
	client, err := bus.ConnectClient(bustest.Context(t), bus.Options{
		URL: broker.URL(), Creds: broker.OperatorCreds(), Name: "test", Log: zerolog.Nop(),
	})
	require.NoError(t, err)
	t.Cleanup(client.Close)
	h = &house{dir: t.TempDir(), url: broker.URL(), client: client}
	arguments := []string{"--url", broker.URL(), "--creds", broker.HubCreds(), "--secrets", bustest.SecretsFile(t), "--log-level", "info"}
	first = newProcess(t, hubBinary, arguments...)
	h.leader(t, "")
	return first, newProcess(t, hubBinary, arguments...), h
}

// leader waits until a hub answers that is not the one named, and returns its name.
func (h *house) leader(t *testing.T, before string) string {
	t.Helper()
	var status api.FleetStatus
	bustest.EventuallyIn(t, patience, func() error {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := bus.Request(ctx, h.client, api.VerbStatus, struct{}{}, &status, bus.RequestOptions{}); err != nil {
			return err
		}
		if status.Leader == before {
			return fmt.Errorf("%s still answers", before)
		}
		return nil
	})
	return status.Leader
}

// The process of the leader is stopped, not killed: its connection stays, and the server goes on sending it
// whatever it has asked for. The next leader takes over and gets every request; the first one finds
// out that it does not lead when it goes on.
func TestLeaderProcessIsStoppedAndGoesOn(t *testing.T) {
	t.Parallel()
	first, _, h := newRivals(t)
	before := h.leader(t, "")
	h.apply(t, content("shop", "one")+pickAll("shop"))
	first.Stop(t)
	h.apply(t, content("shop", "two"))
	after := h.leader(t, before)
	answered := func() {
		for range 20 {
			ctx, cancel := context.WithTimeout(t.Context(), requestTry/2)
			var status api.FleetStatus
			require.NoError(t, bus.Request(ctx, h.client, api.VerbStatus, struct{}{}, &status, bus.RequestOptions{}))
			cancel()
			require.Equal(t, after, status.Leader)
		}
	}
	answered()
	first.Continue(t)
	answered()
	bustest.EventuallyIn(t, patience, func() error { return first.Says("not leading any more") })
	answered()
}

// requestTry is how long a client waits for one answer before it asks again.
const requestTry = 10 * time.Second
