package hubd_test

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/server"
	"flotilla/configs/secrets"
	"flotilla/core/api"
	"flotilla/hub/hubd"
)

// fronted is a hub with a Kubernetes API, and what that was made of.
type fronted struct {
	*hubd.Hub
	hubd.FrontOptions
}

// withFront starts a hub with what answers as a Kubernetes API who asks, and streams at /stream until it is ended.
func withFront(t *testing.T, o hubd.Options) *fronted {
	t.Helper()
	f := &fronted{}
	o.Front.Address = "127.0.0.1:0"
	o.Front.New = func(made hubd.FrontOptions) (http.Handler, error) {
		f.FrontOptions = made
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			who, err := made.Door.Token(r.Context(), strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
			if err != nil {
				http.Error(w, err.Error(), http.StatusUnauthorized)
				return
			}
			_, _ = fmt.Fprintf(w, "%s as %s\n", who.Name, who.Role)
			if r.URL.Path == "/stream" {
				_ = http.NewResponseController(w).Flush()
				<-r.Context().Done()
				_, _ = io.WriteString(w, "ended\n")
			}
		}), nil
	}
	f.Hub = start(t, o)
	return f
}

// tokenOf asks for a token.
func tokenOf(t *testing.T, c *bus.Conn) api.TokenResponse {
	t.Helper()
	var answer api.TokenResponse
	require.NoError(t, bus.Request(bustest.Context(t), c, api.VerbToken, api.TokenRequest{}, &answer, bus.RequestOptions{}))
	return answer
}

// asked asks a Kubernetes API with a token, of which ca is the authority.
func asked(t *testing.T, at string, ca []byte, token string) *http.Response {
	t.Helper()
	pool := x509.NewCertPool()
	require.True(t, pool.AppendCertsFromPEM(ca))
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at, http.NoBody)
	require.NoError(t, err)
	request.Header.Set("Authorization", "Bearer "+token)
	answer, err := (&http.Client{Transport: transport}).Do(request)
	require.NoError(t, err)
	t.Cleanup(func() { _ = answer.Body.Close() })
	return answer
}

// requireAnswer requires what is answered to who shows a token.
func requireAnswer(t *testing.T, at string, ca []byte, token string, code int, want string) {
	t.Helper()
	answer := asked(t, at, ca, token)
	body, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.Equal(t, []any{code, 2}, []any{answer.StatusCode, answer.ProtoMajor})
	require.Contains(t, string(body), want)
}

func TestAKubernetesAPIIsServedUntilTheHubStops(t *testing.T) {
	o := embedded(t, "hub")
	o.Front.Hosts = []string{"Fleet.example.com"}
	h := withFront(t, o)
	leading(t, h.Hub)
	require.Regexp(t, `^https://127\.0\.0\.1:\d+$`, h.URL)
	require.Equal(t, []string{"127.0.0.1", "::1", "fleet.example.com", "localhost"}, h.Hosts)
	require.Equal(t, []string{"test", "hub"}, []string{h.Fleet, h.Replica})
	kept, err := os.ReadFile(filepath.Join(o.Server.Dir, "tls", "front-ca.pem"))
	require.NoError(t, err)
	given := tokenOf(t, client(t, h.Hub))
	require.Equal(t, []any{h.URL, kept}, []any{given.Server, given.CA})
	requireAnswer(t, h.URL, kept, given.Token, http.StatusOK, "admin as admin\n")
	requireAnswer(t, strings.Replace(h.URL, "127.0.0.1", "localhost", 1), kept, given.Token, http.StatusOK, "admin as admin\n")
	requireAnswer(t, h.URL, kept, "flotilla_none", http.StatusUnauthorized, "ask for another with `flotilla token`")

	shown := asked(t, h.URL, kept, given.Token).TLS.PeerCertificates[0]
	require.NoError(t, shown.VerifyHostname("fleet.example.com"))

	stream := asked(t, h.URL+"/stream", kept, given.Token)
	begun := make([]byte, len("admin as admin\n"))
	_, err = io.ReadFull(stream.Body, begun)
	require.NoError(t, err)
	h.Stop()
	rest, err := io.ReadAll(stream.Body)
	require.NoError(t, err)
	require.Equal(t, "ended\n", string(rest), "the stream is ended, and not torn")
}

// A token is one on all hubs of the fleet, whichever gave it, and ends on all when its person is revoked.
func TestATokenHoldsOnEveryHub(t *testing.T) {
	running := bustest.Start(t)
	o := hubd.Options{Fleet: bustest.Fleet, Name: "first", Log: running.Log(), Bus: running.TCP(), Secrets: secrets.Source{Text: bustest.Secrets}, Lead: quickLead}
	first := withFront(t, o)
	leading(t, first.Hub)
	o.Name = "second"
	second := withFront(t, o)
	given := tokenOf(t, running.Person(t, "vera", api.RoleViewer))
	for _, h := range []*fronted{first, second} {
		at, ca := h.Front()
		requireAnswer(t, at, ca, given.Token, http.StatusOK, "vera as viewer\n")
		_, err := h.Door.Token(bustest.Context(t), strings.ToUpper(given.Token))
		require.ErrorIs(t, err, api.ErrNoEntry)
	}
	_, firstCA := first.Front()
	_, secondCA := second.Front()
	require.Equal(t, firstCA, given.CA)
	require.NotEqual(t, firstCA, secondCA, "without a data directory each has an authority of its own")
}

func TestARevokedPersonsTokenEnds(t *testing.T) {
	h := withFront(t, embedded(t, "hub"))
	leading(t, h.Hub)
	admin := client(t, h.Hub)
	var added api.UserAddResponse
	require.NoError(t, bus.Request(t.Context(), admin, api.VerbUserAdd, map[string]any{"name": "anna", "role": "operator", "life": "1h"}, &added, bus.RequestOptions{}))
	anna, err := bus.ConnectClient(t.Context(), bus.Options{Fleet: "test", URL: h.Server().URL(), CredsText: []byte(added.Creds), Name: "anna"})
	require.NoError(t, err)
	t.Cleanup(anna.Close)
	given := tokenOf(t, anna)
	requireAnswer(t, given.Server, given.CA, given.Token, http.StatusOK, "anna as operator\n")
	require.NoError(t, bus.Request(t.Context(), admin, api.VerbUserRevoke, api.UserRevokeRequest{Name: "anna"}, nil, bus.RequestOptions{}))
	requireAnswer(t, given.Server, given.CA, given.Token, http.StatusUnauthorized, "no entry")
}

// What gives the page, or a Kubernetes API, is for that alone.
func TestASessionOfThePageIsNoToken(t *testing.T) {
	var page hubd.PageOptions
	o := embedded(t, "hub")
	o.Page.Address = "127.0.0.1:0"
	o.Page.New = func(made hubd.PageOptions) (http.Handler, error) { page = made; return http.NotFoundHandler(), nil }
	h := withFront(t, o)
	leading(t, h.Hub)
	admin := client(t, h.Hub)
	session, err := page.Door.Enter(bustest.Context(t), linkOf(t, admin).Secret, "")
	require.NoError(t, err)
	_, err = h.Door.Token(bustest.Context(t), session)
	require.ErrorIs(t, err, api.ErrNoEntry)
	_, err = page.Door.Session(bustest.Context(t), tokenOf(t, admin).Token)
	require.ErrorIs(t, err, api.ErrNoEntry)
}

func TestAKubernetesAPIWithACertificateOfOthers(t *testing.T) {
	dir := t.TempDir()
	ca := bustest.Start(t, func(o *server.Options) { o.Dir, o.TLS.SelfSigned = dir, true }).CAFile() // whose certificate is as good as any
	o := embedded(t, "hub")
	o.Front.Cert, o.Front.Key = filepath.Join(dir, "tls", "cert.pem"), filepath.Join(dir, "tls", "key.pem")
	text, err := os.ReadFile(ca)
	require.NoError(t, err)
	for _, told := range []string{"", ca} {
		o.Name, o.Server.Dir, o.Front.CA = "hub", t.TempDir(), told
		h := withFront(t, o)
		leading(t, h.Hub)
		given := tokenOf(t, client(t, h.Hub))
		require.Equal(t, told != "", len(given.CA) > 0, "an authority is told where it is named")
		requireAnswer(t, h.URL, text, given.Token, http.StatusOK, "admin as admin\n")
		require.NoFileExists(t, filepath.Join(o.Server.Dir, "tls", "front-ca.pem"))
		h.Stop()
	}
}

func TestKubernetesAPIsThatAreNotServed(t *testing.T) {
	nothing := func(hubd.FrontOptions) (http.Handler, error) { return http.NotFoundHandler(), nil }
	for name, c := range map[string]struct {
		front hubd.Front
		want  string
	}{
		"everywhere, unnamed":    {hubd.Front{Site: hubd.Site{Address: ":6443"}}, "kubernetes: found address :6443 and no URL, expected kubernetes.url"},
		"a key alone":            {hubd.Front{Site: hubd.Site{Address: "127.0.0.1:6443", Key: "a"}}, "kubernetes: found one of a certificate and its key, expected both"},
		"without TLS":            {hubd.Front{Site: hubd.Site{Address: "127.0.0.1:6443", URL: "http://fleet.example.com"}}, "expected one that begins with https: tokens are shown there"},
		"no address":             {hubd.Front{Site: hubd.Site{Address: "localhost"}}, `kubernetes: found address "localhost", expected a host and a port`},
		"an authority of nobody": {hubd.Front{Site: hubd.Site{Address: "127.0.0.1:6443"}, CA: "a"}, "kubernetes: found an authority without a certificate that it signed"},
	} {
		c.front.New = nothing
		_, err := hubd.New(hubd.Options{Front: c.front})
		require.ErrorContains(t, err, c.want, name)
	}
}

// An address alone serves nothing.
func TestAHubWithoutAKubernetesAPI(t *testing.T) {
	o := embedded(t, "hub")
	o.Front.Address = "127.0.0.1:0"
	h := start(t, o)
	leading(t, h)
	at, ca := h.Front()
	require.Empty(t, at)
	require.Empty(t, ca)
	var failure *api.Failure
	require.ErrorAs(t, bus.Request(bustest.Context(t), client(t, h), api.VerbToken, api.TokenRequest{}, nil, bus.RequestOptions{}), &failure)
	require.Equal(t, "this hub serves no Kubernetes API: start it with --kubernetes 127.0.0.1:6443", failure.Message)
}
