package hubd_test

import (
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/store"
	"flotilla/configs/secrets"
	"flotilla/core/api"
	"flotilla/hub/hubd"
	"flotilla/tests/elsewhen"
	"flotilla/tests/page/listen"
)

// enterPage begins a session on the page of a hub, and gives its cookie.
func enterPage(t *testing.T, h *hubd.Hub, link string) *http.Cookie {
	t.Helper()
	answer := postPage(t, h, "/enter", nil, url.Values{"link": {link}})
	require.Equal(t, http.StatusSeeOther, answer.StatusCode)
	require.Len(t, answer.Cookies(), 1)
	return answer.Cookies()[0]
}

// postPage sends a form from the page itself.
func postPage(t *testing.T, h *hubd.Hub, at string, cookie *http.Cookie, form url.Values) *http.Response {
	t.Helper()
	request := pageRequest(t, h, http.MethodPost, at, cookie)
	request.Body = io.NopCloser(strings.NewReader(form.Encode()))
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Sec-Fetch-Site", "same-origin")
	answer, err := http.DefaultTransport.RoundTrip(request)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	return answer
}

func pageRequest(t *testing.T, h *hubd.Hub, method, at string, cookie *http.Cookie) *http.Request {
	t.Helper()
	request, err := http.NewRequestWithContext(bustest.Context(t), method, h.Page()+at, http.NoBody)
	require.NoError(t, err)
	if cookie != nil {
		// On loopback a cookie is named after the port of its hub.
		request.AddCookie(&http.Cookie{Name: "flotilla-" + request.URL.Port(), Value: cookie.Value})
	}
	return request
}

// served starts a hub with the page that hubs have.
func served(t *testing.T, o hubd.Options) *hubd.Hub {
	t.Helper()
	if o.Page.Address == "" {
		o.Page.Address = "127.0.0.1:0"
	}
	return start(t, o)
}

// While nobody leads a stream goes on, says since when what it shows is old, and ends for nobody; once another hub leads it shows
// the fleet as it is then.
func TestAStreamOutlivesTheHubThatLeads(t *testing.T) {
	running := bustest.Start(t)
	o := hubd.Options{
		Now: elsewhen.Now, Fleet: bustest.Fleet, Name: "first", Log: running.Log(), Bus: running.TCP(), Secrets: secrets.Source{Text: bustest.Secrets},
		Lead: store.LeadOptions{TTL: 8 * time.Second, Renew: time.Second, Margin: time.Second, Poll: 100 * time.Millisecond}, // longer than a page waits for a leader
	}
	way := bustest.NewProxy(t, running)
	o.Bus.URL = way.URL()
	first := served(t, o)
	leading(t, first)
	o.Name, o.Bus = "second", running.TCP()
	second := served(t, o)
	anna := running.Person(t, "anna", api.RoleOperator)
	cookie := enterPage(t, second, linkOf(t, anna).Secret)
	s := listen.To(t, pageRequest(t, second, http.MethodGet, "/stream?at=/members", cookie))
	s.Until("the fleet", func(e listen.Event) bool { return e.Kind == "alive" && e.Mark != "" && e.Stale == "" })

	way.HoldRequests()
	way.HoldReplies()
	stale, before := s.Until("that it is old", func(e listen.Event) bool { return e.Kind == "alive" && e.Stale != "" })
	requireKinds(t, before, "alive", "part")
	leading(t, second)
	var added api.ApplyResponse
	require.NoError(t, bus.Request(bustest.Context(t), running.Client(t), api.VerbApply, map[string]any{"request": "late", "documents": []any{
		map[string]any{"apiVersion": "cluster.kubernetes-fleet.io/v1", "kind": "MemberCluster", "metadata": map[string]any{"name": "late"}},
	}}, &added, bus.RequestOptions{}))
	_, before = s.Until("a member that came after the takeover", listen.Shows("/members", `id="m-late"`))
	requireKinds(t, before, "alive", "part")
	_, _ = s.Until("that it is live", func(e listen.Event) bool { return e.Kind == "alive" && e.Stale == "" && e.Mark != stale.Mark })

	way.Cut()
	require.Equal(t, http.StatusOK, postPage(t, second, "/leave", cookie, nil).StatusCode)
	ended, _ := s.Until("its end", listen.Is("ended"))
	require.Equal(t, "the session has ended", ended.Why)
	_, more := s.Next()
	require.False(t, more, "whoever left is sent nothing")
}

// requireKinds requires that all events are of some kinds.
func requireKinds(t *testing.T, events []listen.Event, kinds ...string) {
	t.Helper()
	for _, e := range events {
		require.Contains(t, kinds, e.Kind, "%+v", e)
	}
}

// Whoever is revoked sees no more of the fleet, whichever hub their browsers look at.
func TestStreamsOfARevokedPersonEndOnEveryHub(t *testing.T) {
	own := embedded(t, "first")
	first := served(t, own)
	leading(t, first)
	second := served(t, hubd.Options{
		Now: elsewhen.Now, Name: "second", Fleet: "test", Log: zerolog.Nop(), Secrets: secrets.Source{File: filepath.Join(own.Server.Dir, secrets.File)},
		Bus: bus.Options{URL: first.Server().URL(), Creds: first.Server().HubCreds()},
	})
	admin := client(t, first)
	var added api.UserAddResponse
	require.NoError(t, bus.Request(t.Context(), admin, api.VerbUserAdd, map[string]any{"name": "anna", "role": "viewer", "life": "1h"}, &added, bus.RequestOptions{}))
	anna, err := bus.ConnectClient(t.Context(), bus.Options{Fleet: "test", URL: first.Server().URL(), CredsText: []byte(added.Creds), Name: "anna", Log: zerolog.Nop()})
	require.NoError(t, err)
	t.Cleanup(anna.Close)
	streams := map[*hubd.Hub]*listen.Stream{}
	for _, h := range []*hubd.Hub{first, second} {
		streams[h] = listen.To(t, pageRequest(t, h, http.MethodGet, "/stream?at=/members", enterPage(t, h, linkOf(t, anna).Secret)))
		streams[h].Until("the fleet", listen.Is("part"))
	}
	require.NoError(t, bus.Request(t.Context(), admin, api.VerbUserRevoke, api.UserRevokeRequest{Name: "anna"}, nil, bus.RequestOptions{}))
	for _, s := range streams {
		s.Until("its end", listen.Is("ended"))
		_, more := s.Next()
		require.False(t, more, "whoever is revoked is sent nothing")
	}
}

// A browser goes on with the hub that was started again: in its session, with all that it shows sent anew.
func TestAStreamGoesOnWithAHubThatWasStartedAgain(t *testing.T) {
	o := embedded(t, "hub")
	o.Log = zerolog.Nop()
	former := served(t, o)
	leading(t, former)
	cookie := enterPage(t, former, linkOf(t, client(t, former)).Secret)
	s := listen.To(t, pageRequest(t, former, http.MethodGet, "/stream?at=/members", cookie))
	part, _ := s.Until("the fleet", listen.Is("part"))
	former.Stop()
	for more := true; more; {
		var e listen.Event
		if e, more = s.Next(); more {
			require.NotEqual(t, "ended", e.Kind, "the session goes on")
		}
	}
	at, err := url.Parse(former.Page())
	require.NoError(t, err)
	o.Page.Address = at.Host
	again := served(t, o)
	leading(t, again)
	require.Equal(t, former.Page(), again.Page())
	request := pageRequest(t, again, http.MethodGet, "/stream?at=/members&have="+url.QueryEscape(part.Part.Sum), cookie)
	request.Header.Set("Last-Event-ID", part.ID)
	resumed := listen.To(t, request)
	first, before := resumed.Until("what it showed", listen.Is("part"))
	requireKinds(t, before, "alive")
	require.Equal(t, part.Part.ID, first.Part.ID)
}
