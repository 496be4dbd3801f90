package hubd_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/server"
	"flotilla/bus/store"
	"flotilla/configs/secrets"
	"flotilla/core/api"
	"flotilla/hub/hubd"
	"flotilla/tests/elsewhen"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func embedded(t *testing.T, name string) hubd.Options {
	t.Helper()
	return hubd.Options{
		Now: elsewhen.Now, Name: name, Fleet: "test", Log: zerolog.New(zerolog.NewTestWriter(t)), Server: &server.Options{Dir: t.TempDir(), Port: -1},
	}
}

func start(t *testing.T, o hubd.Options) *hubd.Hub {
	t.Helper()
	h, err := hubd.New(o)
	require.NoError(t, err)
	require.NoError(t, h.Start(t.Context()))
	t.Cleanup(h.Stop)
	return h
}

func leading(t *testing.T, h *hubd.Hub) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	require.NoError(t, h.WaitLeading(ctx))
}

func client(t *testing.T, h *hubd.Hub) *bus.Conn {
	t.Helper()
	c, err := bus.ConnectClient(t.Context(), bus.Options{
		Fleet: "test", URL: h.Server().URL(), Creds: h.Server().OperatorCreds(), Name: "test", Log: zerolog.Nop(),
	})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func version(t *testing.T, c *bus.Conn) (answer api.VersionResponse) {
	t.Helper()
	require.NoError(t, bus.Request(t.Context(), c, api.VerbVersion, nil, &answer, bus.RequestOptions{}))
	return answer
}

func TestTwoHubsInOneProcess(t *testing.T) {
	for _, name := range []string{"one", "two"} {
		h := start(t, embedded(t, name))
		leading(t, h)
		answer := version(t, client(t, h))
		require.Equal(t, name, answer.Leader)
		require.Positive(t, answer.Term)
	}
}

func TestAHubTakesOverWhenTheLeaderStops(t *testing.T) {
	server := bustest.Start(t)
	o := hubd.Options{
		Fleet: bustest.Fleet, Log: zerolog.Nop(), Bus: server.TCP(), Secrets: secrets.Source{Text: bustest.Secrets},
		Lead: store.LeadOptions{
			TTL: 2 * time.Second, Renew: 300 * time.Millisecond, Margin: 500 * time.Millisecond, Poll: 100 * time.Millisecond,
		},
	}
	o.Name = "first"
	first := start(t, o)
	leading(t, first)
	c := server.Client(t)
	before := version(t, c)
	require.Equal(t, "first", before.Leader)

	o.Name = "second"
	second := start(t, o)
	first.Stop()
	leading(t, second)
	after := version(t, c)
	require.Equal(t, "second", after.Leader)
	require.Greater(t, after.Term, before.Term)
}

// A hub on servers that others run finds out whether they speak TLS, whatever it was told.
func TestATokenForServersOfOthersAsksForTheTLSThatTheySpeak(t *testing.T) {
	servers := bustest.Start(t, func(o *server.Options) { o.TLS.SelfSigned = true })
	o := hubd.Options{Fleet: bustest.Fleet, Log: zerolog.Nop(), Bus: servers.TCP(), Secrets: secrets.Source{Text: bustest.Secrets}, Now: elsewhen.Now}
	o.Bus.URL, o.Bus.CA = strings.Replace(servers.URL(), "tls://", "nats://", 1), servers.CAFile()
	leading(t, start(t, o))
	person := servers.TCP()
	person.Creds, person.CA = servers.OperatorCreds(), servers.CAFile()
	c, err := bus.ConnectClient(t.Context(), person)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	var answer api.EnrolResponse
	require.NoError(t, bus.Request(t.Context(), c, api.VerbEnrol, api.EnrolRequest{Name: "berlin"}, &answer, bus.RequestOptions{}))
	require.Equal(t, servers.URL(), answer.Token.URL)
}

func TestARestartedHubKeepsWhatItAccepted(t *testing.T) {
	o := embedded(t, "hub")
	h := start(t, o)
	leading(t, h)
	document := []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"shop"},"data":{"k":"v"}}`)
	request := api.ApplyRequest{Request: "r", Documents: []json.RawMessage{document}}
	var applied api.ApplyResponse
	require.NoError(t, bus.Request(t.Context(), client(t, h), api.VerbApply, request, &applied, bus.RequestOptions{}))
	h.Stop()

	again := start(t, o)
	leading(t, again)
	var shown map[string]any
	get := api.GetRequest{Kind: "ConfigMap", Namespace: "shop", Name: "a"}
	require.NoError(t, bus.Request(t.Context(), client(t, again), api.VerbGet, get, &shown, bus.RequestOptions{}))
	require.Equal(t, map[string]any{"k": "v"}, shown["data"])
	var repeated api.ApplyResponse
	require.NoError(t, bus.Request(t.Context(), client(t, again), api.VerbApply, request, &repeated, bus.RequestOptions{}))
	require.Equal(t, applied, repeated)
}

func TestAHubServesUntilItsContextEnds(t *testing.T) {
	for name, cause := range map[string]error{"at once": context.Canceled, "lame duck": hubd.ErrLameDuck} {
		t.Run(name, func(t *testing.T) {
			o := embedded(t, "hub")
			o.Server.LameDuck = time.Second
			port, err := strconv.Atoi(bustest.FreePort(t))
			require.NoError(t, err)
			o.Server.Port = port
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			ended := make(chan error, 1)
			go func() {
				h, err := hubd.New(o)
				if err == nil {
					err = h.Start(ctx)
				}
				if err == nil {
					err = h.Serve(ctx)
				}
				ended <- err
			}()
			bustest.Eventually(t, func() error {
				c, err := bus.ConnectClient(ctx, bus.Options{
					Fleet: "test", URL: fmt.Sprintf("nats://127.0.0.1:%d", o.Server.Port), Name: "test", Log: zerolog.Nop(),
					Creds: filepath.Join(o.Server.Dir, "operator.creds"),
				})
				if err != nil {
					return err
				}
				defer c.Close()
				return bus.Request(ctx, c, api.VerbVersion, nil, nil, bus.RequestOptions{Total: 5 * time.Second, Try: time.Second})
			})
			cancel(cause)
			require.NoError(t, <-ended)
		})
	}
}

func TestOptionsAreCheckedAtOnce(t *testing.T) {
	_, err := hubd.New(hubd.Options{Fleet: "Not A Label", Name: "a.b", Policy: hubd.Policy{MemberTimeout: -1}})
	require.ErrorContains(t, err, "fleet")
	require.ErrorContains(t, err, "a.b")
	require.ErrorContains(t, err, "member timeout")
}

func TestATakenPortIsNamedWithWhatToDo(t *testing.T) {
	first := start(t, embedded(t, "first"))
	leading(t, first)
	o := embedded(t, "second")
	_, err := fmt.Sscanf(first.Server().URL(), "nats://127.0.0.1:%d", &o.Server.Port)
	require.NoError(t, err)
	h, err := hubd.New(o)
	require.NoError(t, err)
	err = h.Start(t.Context())
	require.ErrorContains(t, err, fmt.Sprint(o.Server.Port))
	require.ErrorContains(t, err, "--port")
}

func TestMetrics(t *testing.T) {
	o := embedded(t, "hub")
	o.Metrics = "127.0.0.1:0"
	h := start(t, o)
	leading(t, h)
	select {
	case err := <-h.Failed():
		require.NoError(t, err)
	case <-time.After(500 * time.Millisecond):
	}
	body := scraped(t, h)
	require.Contains(t, body, "flotilla_leading 1")
	require.Contains(t, body, `flotilla_members{state="Ready"} 0`)
	require.Contains(t, body, `flotilla_update_runs{state="Running"} 0`)
	require.Contains(t, body, `flotilla_member_credentials{state="RenewalOverdue"} 0`)
	require.Contains(t, body, `flotilla_frozen{what="member"} 0`)
	require.Contains(t, body, "flotilla_withdrawals_held 0")
}

// scraped are the metrics of a hub.
func scraped(t *testing.T, h *hubd.Hub) string {
	t.Helper()
	defer http.DefaultClient.CloseIdleConnections()
	response, err := http.Get("http://" + h.MetricsAddress() + "/metrics")
	require.NoError(t, err)
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	return string(body)
}
