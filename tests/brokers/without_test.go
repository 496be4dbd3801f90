package brokers

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/hub/flotilla/cli"
	"flotilla/hub/flotilla/cli/session"
	"flotilla/tests/elsewhen"
)

// A hub without what changes accounts refuses whom it revoked itself, and says what is left to be typed; revoking
// again has the servers refuse them once it was given that.
func TestRevokingWithoutTheKeysForIt(t *testing.T) {
	s := newSystem(t, "single")
	s.hub("hub-1")
	admin := s.admin()
	anna, _ := s.person(admin, "anna", s.url())
	claims := filepath.Join(s.accounts, "claims.creds")
	require.NoError(t, os.Rename(claims, claims+".away"))

	code, out, said := s.flotilla("user", "revoke", "anna")
	require.Equal(t, session.ExitPartial, code, said)
	require.Equal(t, "user anna revoked\n", out)
	require.Contains(t, said, "its servers do not know yet")
	require.Regexp(t, `nsc revocations add-user --account PEOPLE --user-public-key U\w{55} && nsc push --account PEOPLE`, said)
	var refusal *api.Failure
	require.ErrorAs(t, bus.Request(bustest.Context(t), anna, api.VerbStatus, nil, nil, bus.RequestOptions{}), &refusal)
	require.Contains(t, refusal.Message, "were revoked")
	code, out, said = s.flotilla("user", "renew", "anna")
	require.Equal(t, session.ExitPartial, code, said)
	require.Contains(t, out, "-----BEGIN NATS USER JWT-----", "they have their new credentials all the same")

	bert, bertCreds := s.person(admin, "bert", s.url())
	code, _, said = s.flotilla("user", "revoke", "bert")
	require.Equal(t, session.ExitPartial, code, said)
	s.client(s.url(), "", bertCreds)

	require.NoError(t, os.Rename(claims+".away", claims))
	code, out, said = s.flotilla("user", "revoke", "bert")
	require.Zero(t, code, said)
	require.Equal(t, "user bert unchanged\n", out)
	cut(t, bert)
	refused(t, s, s.url(), bertCreds)
}

// The same for the agent of a member: the hub answers it no more, and its servers are told once that can be done.
func TestRevokingAnAgentWithoutTheKeysForIt(t *testing.T) {
	s := newSystem(t, "single")
	s.hub("hub-1")
	admin := s.admin()
	s.join(admin, "oslo", s.url())
	s.placed(admin, 1, 1)
	claims := filepath.Join(s.accounts, "claims.creds")
	require.NoError(t, os.Rename(claims, claims+".away"))

	for _, did := range []string{"revoked", "unchanged"} {
		code, out, said := s.flotilla("member", "revoke", "oslo")
		require.Equal(t, session.ExitPartial, code, said)
		require.Equal(t, "agent of member oslo "+did+"\n", out)
		require.Contains(t, said, "its servers do not know yet")
		require.Regexp(t, `nsc revocations add-user --account AGENTS --user-public-key U\w{55} && nsc push --account AGENTS`, said)
	}
	require.True(t, s.hasAgent("oslo"))

	require.NoError(t, os.Rename(claims+".away", claims))
	code, out, said := s.flotilla("member", "revoke", "oslo")
	require.Zero(t, code, said)
	require.Equal(t, "agent of member oslo unchanged\n", out)
	s.parted(t, "oslo")
}

// hasAgent says whether the agent of a member is connected to any server.
func (s *system) hasAgent(member string) bool {
	s.Helper()
	for _, one := range s.running {
		connections, err := one.Connz(&server.ConnzOptions{})
		require.NoError(s, err)
		for _, c := range connections.Conns {
			if strings.HasPrefix(c.Name, "flotilla-agent/"+member) {
				return true
			}
		}
	}
	return false
}

// flotilla types a command as the first admin.
func (s *system) flotilla(args ...string) (code int, out, said string) {
	s.Helper()
	var stdout, stderr bytes.Buffer
	env := session.OSEnvironment(elsewhen.Now)
	env.Out, env.Err, env.In = &stdout, &stderr, strings.NewReader("")
	where := []string{"--fleet", fleetName, "--url", s.url(), "--creds", filepath.Join(s.accounts, "operator.creds")}
	code = cli.Main(bustest.Context(s), append(where, args...), env)
	return code, stdout.String(), stderr.String()
}
