package page_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/bus/gate"
	"flotilla/core/api"
	"flotilla/hub/page"
	"flotilla/tests/elsewhen"
)

// leaving tries from where a session is ended, and that nothing is answered that asks under another name.
func (h *acting) leaving(t *testing.T) {
	for _, origin := range origins {
		want := origin.code
		if want == 0 {
			want = http.StatusOK
		}
		require.Equal(t, want, h.from(t, origin.host, origin.headers, "/leave", "nobody", nil), origin.name)
	}
	r := httptest.NewRequestWithContext(bustest.Context(t), http.MethodGet, "http://rebound.example:8480/", http.NoBody)
	require.Equal(t, http.StatusMisdirectedRequest, h.send(r, "nobody").Code)
}

// links tries who is let in without pressing a button: who opened the link by hand, in a browser without a session.
func (h *acting) links(t *testing.T) {
	for name, c := range map[string]struct {
		person string
		header map[string]string
		sends  bool
	}{
		"typed":                {"nobody", map[string]string{"Sec-Fetch-Site": "none"}, true},
		"followed":             {"nobody", map[string]string{"Sec-Fetch-Site": "cross-site"}, false},
		"fetched before":       {"nobody", map[string]string{"Sec-Fetch-Site": "none", "Sec-Purpose": "prefetch;prerender"}, false},
		"by who is in":         {"anna", map[string]string{"Sec-Fetch-Site": "none"}, false},
		"by no browser at all": {"nobody", nil, false},
	} {
		r := httptest.NewRequestWithContext(bustest.Context(t), http.MethodGet, "http://localhost:8480/enter?link=x", http.NoBody)
		for key, value := range c.header {
			r.Header.Set(key, value)
		}
		body := h.send(r, c.person).Body.String()
		require.Contains(t, body, "Enter the page of fleet", name)
		if c.sends {
			require.Contains(t, body, " data-send", name)
			continue
		}
		require.NotContains(t, body, " data-send", name)
	}
}

// connections asks over one as somebody with a session, and as nobody (H47).
func (h *acting) connections(t *testing.T) {
	for person, want := range map[string]bool{"vera": true, "nobody": false} {
		server := httptest.NewUnstartedServer(h.page)
		way := gate.New(server.Listener, 1)
		server.Listener = way
		gate.Introduce(server.Config)
		server.Start()
		t.Cleanup(server.Close)
		r, err := http.NewRequestWithContext(bustest.Context(t), http.MethodGet, server.URL+"/", http.NoBody)
		require.NoError(t, err)
		r.Host = "localhost:8480"
		r.AddCookie(&http.Cookie{Name: "flotilla-8480", Value: h.sessions[person]})
		answer, err := server.Client().Do(r)
		require.NoError(t, err)
		_, err = io.Copy(io.Discard, answer.Body) // a connection with something to be read is closed
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		next, full := way.Full()
		require.True(t, full)
		require.Equal(t, want, next.Person)
		require.Equal(t, want, next.Name == person)
	}
}

// secure begins a session of a page that people reach by TLS.
func (h *acting) secure(t *testing.T) {
	given, err := h.fleet.Hub.Link(bustest.Context(t), api.Caller{Name: "anna", Role: api.RoleAdmin}, time.Hour)
	require.NoError(t, err)
	over, err := page.New(page.Options{Door: h.door, Fleet: "default", Replica: "secure", Hosts: []string{"fleet.example.com"}, Secure: true, Now: elsewhen.Now, Log: zerolog.Nop()})
	require.NoError(t, err)
	t.Cleanup(over.Close)
	form := strings.NewReader(url.Values{"link": {given.Secret}}.Encode())
	r := httptest.NewRequestWithContext(bustest.Context(t), http.MethodPost, "https://fleet.example.com/enter", form)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", "https://fleet.example.com")
	w := httptest.NewRecorder()
	over.ServeHTTP(w, r)
	require.Equal(t, http.StatusSeeOther, w.Code, w.Body)
	require.NotEmpty(t, w.Header().Get("Strict-Transport-Security"))
	cookies := w.Result().Cookies()
	require.Len(t, cookies, 1)
	kept := cookies[0]
	require.Equal(t, "__Host-flotilla", kept.Name)
	require.Equal(t, "/", kept.Path)
	require.Empty(t, kept.Domain)
	require.True(t, kept.Secure && kept.HttpOnly)
	require.Equal(t, http.SameSiteStrictMode, kept.SameSite)
}
