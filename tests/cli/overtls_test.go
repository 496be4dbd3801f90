package cli_test

import (
	"bytes"
	"errors"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"flotilla/agent/agentd"
	"flotilla/bus/bustest"
	busmember "flotilla/bus/member"
	"flotilla/bus/server"
	"flotilla/configs"
	"flotilla/core/api"
	"flotilla/core/validate"
	"flotilla/hub/flotilla/cli"
	"flotilla/hub/flotilla/cli/session"
	"flotilla/hub/hubd"
	"flotilla/tests/elsewhen"
)

// overTLS is the environment of an admin of a hub that has a certificate, and names no authority of it: those who connect
// trust that one already. The admin says nats://.
func overTLS(t *testing.T) session.Environment {
	t.Helper()
	made := bustest.Start(t, func(o *server.Options) { o.TLS.SelfSigned = true })
	folder := filepath.Dir(made.CAFile())
	hub, err := hubd.New(hubd.Options{
		Now: elsewhen.Now, Fleet: "default", Log: zerolog.Nop(),
		Server: &server.Options{Dir: t.TempDir(), Port: -1, TLS: server.TLS{Cert: filepath.Join(folder, "cert.pem"), Key: filepath.Join(folder, "key.pem")}},
		Front:  hubd.Front{Site: hubd.Site{Address: "127.0.0.1:0"}, New: func(hubd.FrontOptions) (http.Handler, error) { return http.NotFoundHandler(), nil }},
	})
	require.NoError(t, err)
	require.NoError(t, hub.Start(t.Context()))
	t.Cleanup(hub.Stop)
	require.NoError(t, hub.WaitLeading(bustest.Context(t)))
	env := session.OSEnvironment(elsewhen.Now)
	env.Terminal, env.Cache = false, ""
	env.Program = func() (string, error) { return "/usr/local/bin/flotilla", nil }
	env.Getenv = func(name string) string {
		return map[string]string{
			"NATS_URL": strings.Replace(hub.Server().URL(), "tls://", "nats://", 1), "NATS_CREDS": hub.Server().OperatorCreds(), "NATS_CA": made.CAFile(),
		}[name]
	}
	return env
}

var tokenText = regexp.MustCompile(regexp.QuoteMeta(api.TokenPrefix) + `[\w-]+`)

// What a hub that speaks TLS hands out has whoever takes it go on with TLS alone, also where its certificate is of an authority
// that all machines know, and whoever asked said nats://.
func TestWhatAHubWithTLSHandsOutAsksForTLS(t *testing.T) {
	env := overTLS(t)
	at := api.OverTLS(env.Getenv("NATS_URL"))
	for command, want := range map[string]string{
		"member enrol berlin": at,
		"member manifest oslo --agent-url nats://hub.example.com:4222": "tls://hub.example.com:4222",
		"member manifest paris --agent-url nats://n1:4222,nats://n2":   "tls://n1:4222,tls://n2",
		"member manifest lyon --agent-url tls://hub.example.com:4222":  "tls://hub.example.com:4222",
		"member manifest nice --agent-url wss://hub.example.com:443":   "wss://hub.example.com:443",
		"member manifest tampa --agent-url " + env.Getenv("NATS_URL"):  at,
	} {
		token, err := validate.Token(tokenText.FindString(printed(t, env, strings.Fields(command)...)))
		require.NoError(t, err, command)
		require.Equal(t, want, token.URL, command)
		require.Empty(t, token.CA)
	}
	for _, command := range []string{"user add anna --role viewer", "user renew anna"} {
		var out, notes bytes.Buffer
		env.Out, env.Err = &out, &notes
		require.Zero(t, cli.Main(t.Context(), strings.Fields(command), env), notes.String())
		require.Contains(t, notes.String(), "the servers speak TLS: NATS_URL="+at+" beside NATS_CREDS\n", command)
		require.NotContains(t, out.String()+notes.String(), "nats://")
	}
	config := printed(t, env, "kubeconfig")
	require.Contains(t, config, "value: "+at)
	require.NotContains(t, config, "nats://")
}

// An agent whose token said nats://, as those of older hubs do, keeps that its servers speak TLS once it has found so.
func TestAnAgentKeepsThatItsServersSpeakTLS(t *testing.T) {
	env := overTLS(t)
	token, err := validate.Token(tokenText.FindString(printed(t, env, "member", "enrol", "berlin")))
	require.NoError(t, err)
	token.URL = env.Getenv("NATS_URL")
	config := configs.DefaultAgent()
	config.Member, config.DataDir, config.Bus.TLS.CA = "berlin", t.TempDir(), env.Getenv("NATS_CA")
	agent, err := agentd.New(agentd.Options{Config: config, Token: &token, Aside: true, Log: zerolog.Nop(), Now: elsewhen.Now})
	require.NoError(t, err)
	require.NoError(t, agent.Start(t.Context()))
	t.Cleanup(func() { require.NoError(t, agent.Stop()) })
	vault := busmember.Folder(config.DataDir)
	bustest.Eventually(t, func() error {
		enrolled, err := busmember.Enrolled(vault)
		if err == nil && enrolled == "" {
			err = errors.New("berlin has not enrolled")
		}
		return err
	})
	wallet, err := busmember.OpenWallet(vault, nil)
	require.NoError(t, err)
	_, at, _ := wallet.Where()
	require.Equal(t, api.OverTLS(token.URL), at)
}
