package page_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/core/deed"
	"flotilla/hub/page"
	"flotilla/subjects"
	"flotilla/tests/elsewhen"
)

// targets are what each action may be done to, with the role that docs/page.md says it needs.
var targets = []struct {
	action, object string
	needs          api.Role
}{
	{"approve", "run/spring", api.RoleOperator},
	{"start", "run/spring", api.RoleOperator},
	{"stop", "run/spring", api.RoleOperator},
	{"skip", "run/spring&target=member/oslo", api.RoleOperator},
	{"rerun", "run/spring", api.RoleOperator},
	{"pause", "placement/web", api.RoleOperator},
	{"resume", "placement/web", api.RoleOperator},
	{"undo", "placement/web", api.RoleOperator},
	{"approve-withdrawal", "member/oslo", api.RoleOperator},
	{"approve-withdrawal", "placement/web", api.RoleOperator},
	{"cordon", "member/oslo", api.RoleAdmin},
	{"uncordon", "member/oslo", api.RoleAdmin},
	{"drain", "member/oslo", api.RoleAdmin},
	{"admit", "member/riga", api.RoleAdmin},
	{"revoke", "member/oslo", api.RoleAdmin},
	{"freeze", "fleet/runs", api.RoleAdmin},
	{"unfreeze", "member/oslo", api.RoleAdmin},
}

// askers are all who may send something, with the role that they have on the page; none for who is not let in.
var askers = []struct {
	name string
	role api.Role
}{
	{"nobody", ""},
	{"a guest", api.RoleViewer},
	{"vera", api.RoleViewer},
	{"olga", api.RoleOperator},
	{"anna", api.RoleAdmin},
	{"rita", ""}, // was an admin, and is revoked
	{"a made up cookie", ""},
}

// origins are where something may be sent from, with the answer where that alone decides, 0 where it does not.
var origins = []struct {
	name, host string
	headers    map[string]string
	code       int
}{
	{"the page", "localhost:8480", map[string]string{"Sec-Fetch-Site": "same-origin"}, 0},
	{"the page, in an older browser", "localhost:8480", map[string]string{"Origin": "http://localhost:8480"}, 0},
	{"a sibling of its domain", "localhost:8480", map[string]string{"Sec-Fetch-Site": "same-site", "Origin": "http://other.localhost:8480"}, http.StatusForbidden},
	{"another site", "localhost:8480", map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"}, http.StatusForbidden},
	{"another port", "localhost:8480", map[string]string{"Origin": "http://localhost:9999"}, http.StatusForbidden},
	{"a page without an origin", "localhost:8480", map[string]string{"Origin": "null"}, http.StatusForbidden},
	{"no browser", "localhost:8480", nil, http.StatusForbidden},
	{"another name", "rebound.example:8480", map[string]string{"Sec-Fetch-Site": "same-origin"}, http.StatusMisdirectedRequest},
}

// sent is what a form says that nobody saw the page of, or a page of another moment.
var sent = []struct {
	name   string
	fields url.Values
	code   int // for those who may
}{
	{"without a look", url.Values{}, http.StatusBadRequest},
	{"without what was seen", url.Values{"request": {"r1"}}, http.StatusBadRequest},
	{"after a look at something else", url.Values{"request": {"r2"}, "seen": {"made up"}, "as": {"anna (admin)"}, "typed": {"33"}, "reason": {"sale"}}, 0},
}

// table has each action asked for by everybody, from everywhere, without its confirmation. Nothing of it changes anything.
func (h *acting) table(t *testing.T) {
	h.everybody(t)
	h.stamped(t)
	before := h.commands(t)
	h.door.changes()
	covered := map[string]bool{}
	for _, target := range targets {
		object, _, _ := strings.Cut(target.object, "&")
		action, err := deed.New(target.action, url.Values{"object": {object}})
		require.NoError(t, err)
		require.Equal(t, target.needs, action.Needs(), target.action)
		covered[action.Verb] = true
		for _, asker := range askers {
			h.confirmations(t, target.action+"?object="+target.object, asker.name, asker.role, target.needs)
			for _, origin := range origins {
				for _, form := range sent {
					object, more, _ := strings.Cut(target.object, "&target=")
					fields := maps.Clone(form.fields)
					fields["object"], fields["target"] = []string{object}, []string{more}
					code := h.from(t, origin.host, origin.headers, "/do/"+target.action, asker.name, fields)
					what := strings.Join([]string{target.action, asker.name, origin.name, form.name}, ", ")
					requireAnswer(t, what, code, origin.code, asker.role, target.needs, form.code)
				}
			}
		}
	}
	require.Equal(t, page.ActionVerbs(), slices.Sorted(maps.Keys(covered)))
	require.Empty(t, h.door.changes(), "nothing was asked of the door that changes anything")
	require.Equal(t, before, h.commands(t), "no member was told anything")
}

// requireAnswer requires what somebody is answered: first where it came from counts, then who asks, then what they saw.
func requireAnswer(t *testing.T, what string, code, origin int, role, needs api.Role, form int) {
	t.Helper()
	switch {
	case origin != 0:
		require.Equal(t, origin, code, what)
	case role == "":
		require.Equal(t, http.StatusUnauthorized, code, what)
	case !role.Covers(needs):
		require.Equal(t, http.StatusForbidden, code, what)
	case form != 0:
		require.Equal(t, form, code, what)
	default: // refused for what there is, or for what was seen
		require.Contains(t, []int{http.StatusConflict, http.StatusUnprocessableEntity, http.StatusBadRequest}, code, what)
	}
}

// confirmations looks at the page of an action, which acts on no look.
func (h *acting) confirmations(t *testing.T, at, name string, role, needs api.Role) {
	t.Helper()
	w := h.as(httptest.NewRequestWithContext(bustest.Context(t), http.MethodGet, "http://localhost:8480/do/"+at, http.NoBody), name)
	text := said(w.Body.String())
	switch {
	case role == "":
		require.Equal(t, http.StatusUnauthorized, w.Code, at)
	case !role.Covers(needs):
		require.Equal(t, http.StatusForbidden, w.Code, "%s of %s: %s", name, at, text)
		require.Contains(t, text, "needs the role "+string(needs))
	default:
		require.NotEqual(t, http.StatusForbidden, w.Code, "%s of %s: %s", name, at, text)
		require.Contains(t, text, "flotilla ", at)
	}
}

// from sends a form from somewhere.
func (h *acting) from(t *testing.T, host string, headers map[string]string, to, name string, fields url.Values) int {
	r := httptest.NewRequestWithContext(bustest.Context(t), http.MethodPost, "http://"+host+to, strings.NewReader(fields.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for key, value := range headers {
		r.Header.Set(key, value)
	}
	return h.as(r, name).Code
}

// as sends a request as somebody; a guest is one on the page that lets guests look.
func (h *acting) as(r *http.Request, name string) *httptest.ResponseRecorder {
	if name != "a guest" {
		return h.send(r, name)
	}
	r.RemoteAddr = "127.0.0.1:9999"
	w := httptest.NewRecorder()
	h.guests.ServeHTTP(w, r)
	return w
}

// everybody lets in who is in the table and not there yet.
func (h *acting) everybody(t *testing.T) {
	h.sessions["a made up cookie"] = strings.Repeat("A", 43)
	var added api.UserAddResponse
	require.NoError(t, h.ask(api.VerbUserAdd, map[string]any{"name": "rita", "role": "admin", "life": "1h"}, &added))
	rita, err := bus.ConnectClient(bustest.Context(t), bus.Options{URL: h.fleet.Hub.Server().URL(), CredsText: []byte(added.Creds), Name: "rita", Log: zerolog.Nop(), Now: elsewhen.Now})
	require.NoError(t, err)
	t.Cleanup(rita.Close)
	var link api.WebResponse
	require.NoError(t, bus.Request(bustest.Context(t), rita, api.VerbWeb, api.WebRequest{}, &link, bus.RequestOptions{}))
	h.sessions["rita"] = h.entered(t, link.Secret)
	require.Equal(t, http.StatusOK, h.get("rita", "/").Code, "she looks while she may")
	require.NoError(t, h.ask(api.VerbUserRevoke, api.UserRevokeRequest{Name: "rita"}, nil))
	bustest.Eventually(t, func() error { // whom a page has just let in looks on for a second
		if code := h.get("rita", "/").Code; code != http.StatusUnauthorized {
			return fmt.Errorf("she is answered %d", code)
		}
		return nil
	})
	h.replayed(t, link.Secret)
	guests, err := page.New(page.Options{Door: h.door, Fleet: "default", Replica: "guests", Guest: true, Now: elsewhen.Now, Log: zerolog.Nop()})
	require.NoError(t, err)
	t.Cleanup(guests.Close)
	h.guests = guests
}

// entered follows a link, and returns the session that the page gives.
func (h *acting) entered(t *testing.T, link string) string {
	t.Helper()
	r := httptest.NewRequestWithContext(bustest.Context(t), http.MethodPost, "http://localhost:8480/enter", strings.NewReader(url.Values{"link": {link}}.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	w := h.send(r, "nobody")
	require.Equal(t, http.StatusSeeOther, w.Code, said(w.Body.String()))
	cookies := w.Result().Cookies()
	require.Len(t, cookies, 1)
	require.True(t, cookies[0].HttpOnly)
	require.Equal(t, http.SameSiteStrictMode, cookies[0].SameSite)
	return cookies[0].Value
}

// replayed tries a link that was used, and one that was not, from everywhere: the one opens nothing, and the other is not
// used up from elsewhere.
func (h *acting) replayed(t *testing.T, used string) {
	fresh, err := h.fleet.Hub.Link(bustest.Context(t), api.Caller{Name: "anna", Role: api.RoleAdmin}, time.Hour)
	require.NoError(t, err)
	for _, origin := range origins {
		want := origin.code
		if want == 0 {
			want = http.StatusForbidden
		} else {
			require.Equal(t, want, h.from(t, origin.host, origin.headers, "/enter", "nobody", url.Values{"link": {fresh.Secret}}), origin.name)
		}
		require.Equal(t, want, h.from(t, origin.host, origin.headers, "/enter", "nobody", url.Values{"link": {used}}), origin.name)
	}
	h.entered(t, fresh.Secret)
}

// commands is where the stream of commands ends.
func (h *acting) commands(t *testing.T) uint64 {
	t.Helper()
	_, stream := h.commandStream(t)
	return stream.CachedInfo().State.LastSeq
}

func (h *acting) commandStream(t *testing.T) (subjects.Fleet, jetstream.Stream) {
	t.Helper()
	hub, err := bus.ConnectHub(bustest.Context(t), bus.Options{Server: h.fleet.Hub.Server(), Name: "a look", Log: zerolog.Nop(), Now: elsewhen.Now})
	require.NoError(t, err)
	t.Cleanup(hub.Close)
	stream, err := hub.JS.Stream(bustest.Context(t), hub.Fleet.Stream(subjects.Commands))
	require.NoError(t, err)
	return hub.Fleet, stream
}

// stamped waits until the nodes of oslo carry the stamps of their NodePool: then its agent has been told that there is nothing left to
// do to them, and the hub tells nobody anything on its own.
func (h *acting) stamped(t *testing.T) {
	t.Helper()
	fleet, stream := h.commandStream(t)
	bustest.Eventually(t, func() error {
		m, err := stream.GetLastMsgForSubject(bustest.Context(t), fleet.Command("oslo", subjects.CommandDisruption))
		if err != nil {
			return err
		}
		if order := m.Header.Get("Flotilla-Order"); !strings.HasSuffix(order, ".2") {
			return fmt.Errorf("the last order about nodes is %s", order)
		}
		return nil
	})
}

// strangers tries what a page has, its own name and the cookies of who looks, where commands are published: the servers let none
// of it in, and the door has nothing changed for it.
func (h *acting) strangers(t *testing.T) {
	at := h.fleet.Hub.Server().URL()
	for name, option := range map[string]nats.Option{
		"a token": nats.Token(h.sessions["anna"]), "a password": nats.UserInfo("anna", h.sessions["anna"]), "a key": nats.Nkey(h.sessions["anna"], func([]byte) ([]byte, error) { return []byte("signed"), nil }), "nothing": nats.Name("page"),
	} {
		c, err := nats.Connect(at, option, nats.MaxReconnects(0))
		if err == nil {
			c.Close()
		}
		require.ErrorIs(t, err, nats.ErrAuthorization, name)
	}
	before := h.commands(t)
	tried := 0
	for _, verb := range api.VerbTable() {
		if verb.Needs == api.RoleViewer {
			continue
		}
		tried++
		var failure *api.Failure
		err := h.door.Door.Ask(bustest.Context(t), api.Caller{Name: "page of hub", Role: api.RoleViewer, Request: "page"}, verb.Verb, map[string]any{}, nil)
		require.ErrorAs(t, err, &failure, verb.Verb)
		require.Equal(t, api.CodeRefused, failure.Code, "%s: %s", verb.Verb, failure.Message)
	}
	require.Greater(t, tried, 20, "verbs that change something")
	require.Equal(t, before, h.commands(t))
}
