package main

import (
	"bytes"
	"net/http"
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/bus/server"
	"flotilla/configs"
	"flotilla/core/api"
	"flotilla/hub/dev"
	"flotilla/hub/hubd"
	"flotilla/subjects"
	"flotilla/tests/elsewhen"
)

func TestThePageOfTheConfiguration(t *testing.T) {
	text := "page: {address: '0.0.0.0:8443', url: 'https://fleet.example.com', hosts: [other.example.com], tls: {cert: a.pem, key: b.pem}}"
	config, err := configs.LoadHub("hub.yaml", []byte(text))
	require.NoError(t, err)
	require.Equal(t, hubd.Site{
		Address: "0.0.0.0:8443", URL: "https://fleet.example.com", Hosts: []string{"other.example.com"}, Cert: "a.pem", Key: "b.pem",
	}, options(&config, zerolog.Nop(), os.Getenv).Page.Site)
}

// A development hub says where everybody may look, and has a link for one operator.
func TestADevelopmentHubPrintsItsPage(t *testing.T) {
	var made hubd.PageOptions
	o := hubd.Options{Now: elsewhen.Now, Fleet: "shop", Log: zerolog.Nop(), Server: &server.Options{Dir: t.TempDir(), Port: -1}}
	devPage(&o)
	require.Equal(t, hubd.Page{Site: hubd.Site{Address: "127.0.0.1:8480", AnyPort: true}, Guest: true}, o.Page)
	o.Page.Address = "127.0.0.1:0"
	o.Page.New = func(p hubd.PageOptions) (http.Handler, error) { made = p; return http.NotFoundHandler(), nil }
	fleet, err := dev.Start(bustest.Context(t), dev.Options{Hub: o, Log: zerolog.Nop()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, fleet.Stop()) })
	var out bytes.Buffer
	lines, err := pageLines(bustest.Context(t), fleet.Hub)
	require.NoError(t, err)
	printNext(&out, fleet.Hub, "shop", lines)
	require.True(t, made.Guest)
	require.Contains(t, out.String(), "\n  "+made.URL+"\n")
	link := regexp.MustCompile(regexp.QuoteMeta(made.URL) + `/enter\?link=(\S+)`).FindStringSubmatch(out.String())
	require.Len(t, link, 2, out.String())
	session, err := made.Door.Enter(bustest.Context(t), link[1], "127.0.0.1")
	require.NoError(t, err)
	who, err := made.Door.Session(bustest.Context(t), session)
	require.NoError(t, err)
	require.Equal(t, []any{subjects.FirstPerson, api.RoleOperator}, []any{who.Name, who.Role})
	require.Greater(t, who.Ends.Sub(elsewhen.Now()), 7*time.Hour)
}
