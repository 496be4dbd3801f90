package crowd

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/core/api"
)

// Enter begins a session of a role on the hub's page, and gives its cookie.
func (f *Fleet) Enter(role api.Role) *http.Cookie {
	f.t.Helper()
	return f.enterAs(f.Client(role))
}

// Visit begins a session of a viewer of a name, and gives its cookie.
func (f *Fleet) Visit(name string) *http.Cookie {
	f.t.Helper()
	creds, _, err := f.Hub.Server().PersonCreds(name, api.RoleViewer, 0)
	require.NoError(f.t, err)
	conn, err := bus.ConnectClient(f.t.Context(), bus.Options{Server: f.Hub.Server(), CredsText: creds, Name: name, Log: f.log, Now: f.now})
	require.NoError(f.t, err)
	defer conn.Close()
	return f.enterAs(conn)
}

// enterAs begins a session of who has a connection.
func (f *Fleet) enterAs(conn *bus.Conn) *http.Cookie {
	f.t.Helper()
	var given api.WebResponse
	require.NoError(f.t, bus.Request(f.t.Context(), conn, api.VerbWeb, api.WebRequest{}, &given, bus.RequestOptions{}))
	return Follow(f.t, &given)
}

// Follow begins the session that a link to a page gives, and gives its cookie.
func Follow(t testing.TB, given *api.WebResponse) *http.Cookie {
	t.Helper()
	form := url.Values{"link": {given.Secret}}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, given.URL+"/enter", strings.NewReader(form.Encode()))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Origin", given.URL)
	answer, err := http.DefaultTransport.RoundTrip(request)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusSeeOther, answer.StatusCode)
	require.Len(t, answer.Cookies(), 1)
	return answer.Cookies()[0]
}
