package agentd

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
)

// probed waits until an agent is ready, or is not, and returns what it says.
func probed(t *testing.T, a *Agent, code int) (body string) {
	t.Helper()
	bustest.Eventually(t, func() error {
		var found int
		if found, body = bustest.Get(t, "http://"+a.MetricsAddress()+"/readyz?verbose"); found != code {
			return errors.New(body)
		}
		return nil
	})
	return body
}

// An agent is ready once the hub has a heartbeat of it, and not while it cannot remember what it is told.
func TestReadiness(t *testing.T) {
	server := bustest.Start(t)
	server.Lead(t)
	o := options(t, server, "berlin")
	o.Config.DataDir, o.Config.MetricsAddress = filepath.Join(t.TempDir(), "berlin"), "127.0.0.1:0"
	a := start(t, o)
	require.Equal(t, "[+]connection ok\n[+]credentials ok\n[+]folder ok\n[+]heartbeat ok\nreadyz check passed\n", probed(t, a, http.StatusOK))
	require.NoError(t, os.Rename(o.Config.DataDir, o.Config.DataDir+".away"))
	require.Contains(t, probed(t, a, http.StatusServiceUnavailable), "[-]folder failed: the data directory "+o.Config.DataDir+" cannot be written")
	require.NoError(t, os.Rename(o.Config.DataDir+".away", o.Config.DataDir))
	probed(t, a, http.StatusOK)
}

// Credentials that the broker does not know are named.
func TestAnAgentIsNotReadyWithCredentialsOfAnotherBroker(t *testing.T) {
	server, other := bustest.Start(t), bustest.Start(t)
	o := options(t, server, "berlin")
	o.CredsText = other.AgentOptions(t, "berlin").CredsText
	o.Config.MetricsAddress = "127.0.0.1:0"
	a := start(t, o)
	bustest.Eventually(t, func() error {
		if body := probed(t, a, http.StatusServiceUnavailable); !strings.Contains(body, "[-]credentials failed: ") || !strings.Contains(body, "[-]heartbeat failed: the hub has no heartbeat") {
			return errors.New(body)
		}
		return nil
	})
	code, body := bustest.Get(t, "http://"+a.MetricsAddress()+"/healthz")
	require.Equal(t, http.StatusOK, code)
	require.Equal(t, "ok\n", body)
}

// An agent whose heartbeats are not stored any more is not ready once three are missing.
func TestAnAgentWhoseHeartbeatsAreNotStoredIsNotReady(t *testing.T) {
	server := bustest.Start(t)
	server.Lead(t)
	o := options(t, server, "berlin")
	o.Config.MetricsAddress = "127.0.0.1:0"
	a := start(t, o)
	probed(t, a, http.StatusOK)
	server.Stop(t)
	bustest.Eventually(t, func() error {
		if body := probed(t, a, http.StatusServiceUnavailable); !strings.Contains(body, "[-]connection failed: ") ||
			!strings.Contains(body, " ago, the limit is 3s") {
			return errors.New(body)
		}
		return nil
	})
}
