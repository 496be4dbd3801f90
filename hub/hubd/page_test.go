package hubd_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/server"
	"flotilla/bus/store"
	"flotilla/configs/secrets"
	"flotilla/core/api"
	"flotilla/hub/hubd"
	"flotilla/tests/elsewhen"
)

// paged is a hub with a page, and what its page was made of.
type paged struct {
	*hubd.Hub
	hubd.PageOptions
	closed bool
}

// closing is a page that is told when it is served no more.
type closing struct {
	http.Handler
	page *paged
}

func (c closing) Close() { c.page.closed = true }

// quickLead is a competition that is over soon.
var quickLead = store.LeadOptions{TTL: 2 * time.Second, Renew: 300 * time.Millisecond, Margin: 500 * time.Millisecond, Poll: 100 * time.Millisecond}

// withPage starts a hub with a page that answers with the name of who asks, and streams at /stream until it is ended.
func withPage(t *testing.T, o hubd.Options) *paged {
	t.Helper()
	p := &paged{}
	o.Page.Address = "127.0.0.1:0"
	o.Page.New = func(made hubd.PageOptions) (http.Handler, error) {
		p.PageOptions = made
		mux := http.NewServeMux()
		mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hub "+made.Replica) })
		mux.HandleFunc("/stream", func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, "begun\n")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
			_, _ = io.WriteString(w, "ended\n")
		})
		return closing{mux, p}, nil
	}
	p.Hub = start(t, o)
	return p
}

// twoHubs are a hub that leads and one that does not, on servers that run beside them.
func twoHubs(t *testing.T, running *bustest.Server) (first, second *paged) {
	t.Helper()
	o := hubd.Options{Fleet: bustest.Fleet, Name: "first", Log: running.Log(), Bus: running.TCP(), Secrets: secrets.Source{Text: bustest.Secrets}, Lead: quickLead}
	first = withPage(t, o)
	leading(t, first.Hub)
	o.Name = "second"
	return first, withPage(t, o)
}

func linkOf(t *testing.T, c *bus.Conn) api.WebResponse {
	t.Helper()
	var answer api.WebResponse
	require.NoError(t, bus.Request(bustest.Context(t), c, api.VerbWeb, api.WebRequest{}, &answer, bus.RequestOptions{}))
	return answer
}

// requireSession requires that a session is somebody's on each of some hubs.
func requireSession(t *testing.T, session, name string, role api.Role, hubs ...*paged) {
	t.Helper()
	for _, h := range hubs {
		who, err := h.Door.Session(bustest.Context(t), session)
		require.NoError(t, err)
		require.Equal(t, []any{name, role}, []any{who.Name, who.Role})
		require.True(t, who.Ends.After(elsewhen.Now()))
	}
}

func requireNoSession(t *testing.T, session string, hubs ...*paged) {
	t.Helper()
	for _, h := range hubs {
		_, err := h.Door.Session(bustest.Context(t), session)
		require.ErrorIs(t, err, api.ErrNoEntry)
	}
}

// A session is one on all hubs of the fleet, whichever it began on and whichever leads.
func TestASessionHoldsOnEveryHub(t *testing.T) {
	running := bustest.Start(t)
	first, second := twoHubs(t, running)
	ctx := bustest.Context(t)
	given := linkOf(t, running.Person(t, "anna", api.RoleOperator))
	require.Equal(t, first.Page(), given.URL, "the hub that leads says where its page is")
	session, err := second.Door.Enter(ctx, given.Secret, "192.0.2.7")
	require.NoError(t, err)
	requireSession(t, session, "anna", api.RoleOperator, first, second)
	for _, h := range []*paged{first, second} {
		_, err := h.Door.Enter(ctx, given.Secret, "192.0.2.7")
		require.ErrorIs(t, err, api.ErrNoEntry)
	}
	twice := linkOf(t, running.Client(t))
	entered := make(chan error, 8)
	for i := range cap(entered) {
		go func() {
			_, err := []*paged{first, second}[i%2].Door.Enter(ctx, twice.Secret, "")
			entered <- err
		}()
	}
	began := 0
	for range cap(entered) {
		err := bustest.Within(t, entered, "an entry")
		if err == nil {
			began++
			continue
		}
		require.ErrorIs(t, err, api.ErrNoEntry)
	}
	require.Equal(t, 1, began)

	first.Stop()
	requireNobodyLeads(t, second)
	leading(t, second.Hub)
	bustest.Eventually(t, func() error { _, err := second.Door.Session(ctx, session); return err })
	requireSession(t, session, "anna", api.RoleOperator, second)
	require.NoError(t, second.Door.Leave(ctx, session))
	requireNoSession(t, session, second)
	_, err = second.Door.Enter(ctx, given.Secret, "192.0.2.7")
	require.ErrorIs(t, err, api.ErrNoEntry)
}

// requireNobodyLeads asks a hub, which may say so, but soon.
func requireNobodyLeads(t *testing.T, h *paged) {
	t.Helper()
	began := elsewhen.Now()
	err := h.Door.Ask(bustest.Context(t), api.Caller{Name: "anna", Role: api.RoleOperator}, api.VerbVersion, nil, nil)
	require.Less(t, elsewhen.Now().Sub(began), 15*time.Second)
	if err != nil {
		var failure *api.Failure
		require.ErrorAs(t, err, &failure)
		require.Equal(t, api.CodeUnavailable, failure.Code)
	}
}

// Whoever is revoked is refused on each hub at once.
func TestARevokedPersonIsSentAwayFromEveryHub(t *testing.T) {
	own := embedded(t, "first")
	first := withPage(t, own)
	leading(t, first.Hub)
	follower := hubd.Options{
		Now: elsewhen.Now, Name: "second", Fleet: "test", Log: zerolog.Nop(), Secrets: secrets.Source{File: filepath.Join(own.Server.Dir, secrets.File)},
		Bus: bus.Options{URL: first.Server().URL(), Creds: first.Server().HubCreds()},
	}
	second := withPage(t, follower)
	admin := client(t, first.Hub)
	var sessions []string
	for _, name := range []string{"anna", "bert"} {
		var added api.UserAddResponse
		require.NoError(t, bus.Request(t.Context(), admin, api.VerbUserAdd, map[string]any{"name": name, "role": "viewer", "life": "1h"}, &added, bus.RequestOptions{}))
		c, err := bus.ConnectClient(t.Context(), bus.Options{Fleet: "test", URL: first.Server().URL(), CredsText: []byte(added.Creds), Name: name, Log: zerolog.Nop()})
		require.NoError(t, err)
		t.Cleanup(c.Close)
		session, err := second.Door.Enter(bustest.Context(t), linkOf(t, c).Secret, "192.0.2.7")
		require.NoError(t, err)
		requireSession(t, session, name, api.RoleViewer, first, second)
		sessions = append(sessions, session)
	}
	require.NoError(t, bus.Request(t.Context(), admin, api.VerbUserRevoke, api.UserRevokeRequest{Name: "anna"}, nil, bus.RequestOptions{}))
	requireNoSession(t, sessions[0], first, second)
	require.NoError(t, bus.Request(t.Context(), admin, api.VerbUserAdd, map[string]any{"name": "bert", "role": "viewer", "life": "1h", "renew": true}, nil, bus.RequestOptions{}))
	requireNoSession(t, sessions[1], second, first)
	for _, h := range []*paged{first, second} {
		var failure *api.Failure
		err := h.Door.Ask(bustest.Context(t), api.Caller{Name: "anna", Role: api.RoleViewer}, api.VerbStatus, nil, nil)
		require.ErrorAs(t, err, &failure)
		require.Equal(t, api.CodeRefused, failure.Code)
	}
}

// A page gets the same answers on a hub that leads and on one that does not, and the same refusals.
func TestPagesAreAnsweredAlikeOnEveryHub(t *testing.T) {
	first, second := twoHubs(t, bustest.Start(t))
	ctx := bustest.Context(t)
	vera, olga := api.Caller{Name: "vera", Role: api.RoleViewer}, api.Caller{Name: "olga", Role: api.RoleOperator, Address: "192.0.2.7", Request: "r1"}
	apply := map[string]any{"request": "r1", "documents": []any{map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "shop"}}}}
	for _, h := range []*paged{first, second} {
		var failure *api.Failure
		require.ErrorAs(t, h.Door.Ask(ctx, vera, api.VerbApply, apply, nil), &failure)
		require.Equal(t, api.CodeRefused, failure.Code)
		require.Equal(t, "apply needs the role operator: vera is viewer; an admin gives it: flotilla user renew vera --role operator", failure.Message)
		require.ErrorAs(t, h.Door.Ask(ctx, olga, api.VerbGet, api.GetRequest{Kind: "Namespace", Name: "none"}, nil), &failure)
		require.Equal(t, api.CodeNotFound, failure.Code)
	}
	var applied api.ApplyResponse
	require.NoError(t, second.Door.Ask(ctx, olga, api.VerbApply, apply, &applied))
	require.Equal(t, api.ActionCreated, applied.Results[0].Action)
	for verb, question := range map[string]any{
		api.VerbWhoami: nil, api.VerbList: api.ListRequest{Kind: "Namespace"}, api.VerbGet: api.GetRequest{Kind: "Namespace", Name: "shop"}, api.VerbBudgets: struct{}{},
	} {
		var here, there any
		require.NoError(t, first.Door.Ask(ctx, olga, verb, question, &here), verb)
		require.NoError(t, second.Door.Ask(ctx, olga, verb, question, &there), verb)
		text, err := bus.Encode(here)
		require.NoError(t, err)
		other, err := bus.Encode(there)
		require.NoError(t, err)
		require.JSONEq(t, string(text), string(other), verb)
	}

	var mark, news api.WatchResponse
	watch := api.WatchRequest{Kinds: []api.WatchedKind{{Kind: "Namespace"}}}
	require.NoError(t, second.Door.Ask(ctx, vera, api.VerbWatch, watch, &mark))
	watch.After, watch.Wait.Duration = mark.Mark, 30*time.Second
	waited := make(chan error, 1)
	go func() { waited <- second.Door.Ask(ctx, vera, api.VerbWatch, watch, &news) }()
	apply["request"], apply["documents"].([]any)[0].(map[string]any)["metadata"].(map[string]any)["name"] = "r2", "other"
	require.NoError(t, first.Door.Ask(ctx, olga, api.VerbApply, apply, nil))
	require.NoError(t, bustest.Within(t, waited, "a watch through another hub"))
	require.True(t, news.Changed)
}

func TestAPageIsServedUntilTheHubStops(t *testing.T) {
	o := embedded(t, "hub")
	o.Page.Guest, o.Page.Hosts = true, []string{"Fleet.example.com"}
	h := withPage(t, o)
	leading(t, h.Hub)
	require.Equal(t, h.Page(), h.URL)
	require.Regexp(t, `^http://127\.0\.0\.1:\d+$`, h.URL)
	require.Equal(t, []string{"127.0.0.1", "::1", "fleet.example.com", "localhost"}, h.Hosts)
	require.True(t, h.Guest)
	require.False(t, h.Secure)
	code, body := bustest.Get(t, h.URL)
	require.Equal(t, []any{http.StatusOK, "hub hub"}, []any{code, body})

	defer http.DefaultClient.CloseIdleConnections()
	stream, err := http.Get(h.URL + "/stream")
	require.NoError(t, err)
	begun := make([]byte, len("begun\n"))
	_, err = io.ReadFull(stream.Body, begun)
	require.NoError(t, err)
	h.Stop()
	rest, err := io.ReadAll(stream.Body)
	require.NoError(t, err)
	require.Equal(t, "ended\n", string(rest), "the stream is ended, and not torn")
	require.True(t, h.closed)
	require.NoError(t, stream.Body.Close())
	_, err = http.Get(h.URL) //nolint:bodyclose // there is none
	require.Error(t, err)
}

func TestAPageBeyondLoopbackSpeaksTLS(t *testing.T) {
	dir := t.TempDir()
	ca := bustest.Start(t, func(o *server.Options) { o.Dir, o.TLS.SelfSigned = dir, true }).CAFile() // whose certificate is as good as any
	o := embedded(t, "hub")
	o.Page.Cert, o.Page.Key = filepath.Join(dir, "tls", "cert.pem"), filepath.Join(dir, "tls", "key.pem")
	h := withPage(t, o)
	leading(t, h.Hub)
	require.True(t, h.Secure)
	pool := x509.NewCertPool()
	text, err := os.ReadFile(ca)
	require.NoError(t, err)
	require.True(t, pool.AppendCertsFromPEM(text))
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	answer, err := (&http.Client{Transport: transport}).Get(h.URL)
	require.NoError(t, err)
	defer func() { _ = answer.Body.Close() }()
	require.Equal(t, []any{http.StatusOK, 2}, []any{answer.StatusCode, answer.ProtoMajor})
}

func TestPagesThatAreNotServed(t *testing.T) {
	nothing := func(hubd.PageOptions) (http.Handler, error) { return http.NotFoundHandler(), nil }
	for name, c := range map[string]struct {
		site hubd.Site
		want string
	}{
		"beyond loopback":      {hubd.Site{Address: "192.0.2.1:8480"}, "page: found address 192.0.2.1:8480 without a certificate"},
		"everywhere":           {hubd.Site{Address: ":8480", URL: "http://fleet.example.com"}, "without a certificate"},
		"everywhere, unnamed":  {hubd.Site{Address: "[::]:8480", Cert: "a", Key: "b"}, "and no URL, expected page.url"},
		"a certificate alone":  {hubd.Site{Address: "127.0.0.1:8480", Cert: "a"}, "found one of a certificate and its key, expected both"},
		"a certificate unused": {hubd.Site{Address: "127.0.0.1:8480", Cert: "a", Key: "b", URL: "http://fleet.example.com"}, "expected one that begins with https"},
		"no address":           {hubd.Site{Address: "localhost"}, `found address "localhost", expected a host and a port`},
	} {
		_, err := hubd.New(hubd.Options{Page: hubd.Page{Site: c.site, New: nothing}})
		require.ErrorContains(t, err, c.want, name)
	}
}

func TestAPageWhoseAddressIsTaken(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = taken.Close() }()
	o := embedded(t, "hub")
	o.Page.Address = taken.Addr().String()
	o.Page.New = func(hubd.PageOptions) (http.Handler, error) { return http.NotFoundHandler(), nil }
	h, err := hubd.New(o)
	require.NoError(t, err)
	require.ErrorContains(t, h.Start(t.Context()), "name another address with --page HOST:PORT")

	o.Page.AnyPort = true
	other := start(t, o)
	leading(t, other)
	require.NotEqual(t, "http://"+o.Page.Address, other.Page())
	code, _ := bustest.Get(t, other.Page())
	require.Equal(t, http.StatusNotFound, code)
}

// While records of state are gone, a page is told so.
func TestAPageOfADamagedFleet(t *testing.T) {
	running := bustest.Start(t)
	first, second := twoHubs(t, running)
	ctx := bustest.Context(t)
	session, err := second.Door.Enter(ctx, linkOf(t, running.Client(t)).Secret, "")
	require.NoError(t, err)
	hub := running.Hub(t)
	require.NoError(t, first.Door.Ask(ctx, api.Caller{Name: "olga", Role: api.RoleAdmin}, api.VerbFreeze, api.FreezeRequest{Request: "r1", Scope: api.FreezeFleet, Reason: "a test"}, nil))
	stream, err := hub.JS.Stream(ctx, hub.Fleet.BucketStream("state"))
	require.NoError(t, err)
	subject := hub.Fleet.BucketSubject("state", "freeze."+api.FreezeFleet)
	lost, err := stream.GetLastMsgForSubject(ctx, subject)
	require.NoError(t, err)
	require.NoError(t, stream.DeleteMsg(ctx, lost.Sequence))
	first.Stop()
	bustest.Eventually(t, func() error {
		_, err := second.Door.Session(ctx, session)
		var failure *api.Failure
		if !errors.As(err, &failure) || failure.Code != api.CodeDamaged {
			return fmt.Errorf("the page is not told: %w", err)
		}
		return nil
	})
	require.NoError(t, second.Door.Ask(ctx, api.Caller{Name: "olga", Role: api.RoleAdmin}, api.VerbStatus, nil, nil), "what is wrong can be seen")
}
