package hubd_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/disk"
	"flotilla/bus/server"
	"flotilla/configs/secrets"
	"flotilla/hub/hubd"
	"flotilla/subjects"
)

// A hub is ready when it leads, and beside one that leads. It is not when its disk is nearly full, when nobody
// leads, or without a connection; it is alive all the while.
func TestReadiness(t *testing.T) {
	var free atomic.Int64
	free.Store(1 << 30)
	running := bustest.Start(t)
	o := hubd.Options{
		Fleet: bustest.Fleet, Name: "one", Log: embedded(t, "").Log, Metrics: "127.0.0.1:0", Server: &server.Options{Dir: t.TempDir(), Port: -1},
		Disk: hubd.Disk{Reserve: 1 << 20, Statfs: func(string) (disk.Space, error) { return disk.Space{Free: free.Load(), Total: 1 << 40}, nil }},
	}
	one := start(t, o)
	leading(t, one)
	at := "http://" + one.MetricsAddress()
	code, body := bustest.Get(t, at+"/readyz")
	require.Equal(t, http.StatusOK, code, body)
	require.Equal(t, "ok\n", body)
	_, body = bustest.Get(t, at+"/readyz?verbose")
	require.Equal(t, "[+]connection ok\n[+]leader ok\n[+]state ok\n[+]layout ok\n[+]disk ok\nreadyz check passed\n", body)
	hub, err := bus.ConnectHub(bustest.Context(t), bus.Options{Fleet: bustest.Fleet, URL: one.Server().URL(), Creds: one.Server().HubCreds(), Log: o.Log})
	require.NoError(t, err)
	t.Cleanup(hub.Close)
	require.NoError(t, hub.JS.DeleteStream(t.Context(), hub.Fleet.Stream(subjects.Audit)))
	code, body = bustest.Get(t, at+"/readyz")
	require.Equal(t, http.StatusServiceUnavailable, code)
	require.Contains(t, body, "[-]layout failed: ")
	require.Contains(t, body, hub.Fleet.Stream(subjects.Audit))
	free.Store(1000)
	code, body = bustest.Get(t, at+"/readyz")
	require.Equal(t, http.StatusServiceUnavailable, code)
	require.Contains(t, body, "[-]disk failed: "+o.Server.Dir+" has 1000 bytes free of 1.0 TiB, 1.0 MiB are kept in reserve")

	o.Server, o.Bus, o.Name, o.Secrets = nil, running.TCP(), "first", secrets.Source{Text: bustest.Secrets}
	first := start(t, o)
	leading(t, first)
	o.Name = "second"
	second := start(t, o)
	at = "http://" + second.MetricsAddress()
	code, body = bustest.Get(t, at+"/readyz")
	require.Equal(t, http.StatusOK, code, body)
	running.Stop(t)
	// A question that was on its way when the server stopped found a connection, and nobody who led. What is asked for here is the answer
	// to one that came later.
	bustest.Eventually(t, func() error {
		code, body = bustest.Get(t, at+"/readyz")
		if code == http.StatusOK || !strings.Contains(body, "[-]connection failed: no connection to nats://") {
			return fmt.Errorf("found %d: %s", code, body)
		}
		return nil
	})
	require.Contains(t, body, "[-]leader failed: ")
	code, body = bustest.Get(t, at+"/healthz")
	require.Equal(t, http.StatusOK, code)
	require.Equal(t, "ok\n", body)
}
