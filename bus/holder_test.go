package bus_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/member"
	"flotilla/core/api"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
)

func credsOfMember(t *testing.T, server *bustest.Server, member string) string {
	t.Helper()
	text := bustest.AgentCreds(t, server.Server, member)
	path := filepath.Join(t.TempDir(), member+".creds")
	require.NoError(t, os.WriteFile(path, text, 0o600))
	return path
}

func TestARequestThatIsForbiddenFailsAtOnceAndSaysWhoseCredentialsTheyAre(t *testing.T) {
	server := bustest.Start(t)
	client, err := bus.ConnectClient(t.Context(), bus.Options{
		Fleet: bustest.Fleet, URL: server.URL(), Creds: credsOfMember(t, server, "berlin"), Log: zerolog.Nop(),
	})
	require.NoError(t, err)
	t.Cleanup(client.Close)
	// Patience is of no use: whoever waits for an answer waits until the context ends.
	err = bus.Request(bustest.Context(t), client, api.VerbVersion, nil, nil, bus.RequestOptions{Total: time.Hour, Try: time.Hour})
	require.ErrorIs(t, err, bus.ErrDenied)
	require.ErrorContains(t, err, "these credentials are those of member berlin")
}

func TestAnAgentWithCredentialsOfAnotherMemberDoesNotStart(t *testing.T) {
	server := bustest.Start(t)
	o := bus.Options{Fleet: bustest.Fleet, URL: server.URL(), Creds: credsOfMember(t, server, "berlin"), Log: zerolog.Nop()}
	_, err := member.Connect(t.Context(), o, "oslo")
	require.ErrorIs(t, err, bus.ErrSetup)
	require.ErrorContains(t, err, "those of member berlin, not of member oslo: flotilla member enrol oslo > oslo.token")
	own, err := member.Connect(t.Context(), o, "berlin")
	require.NoError(t, err)
	own.Close()
}

func TestMistakesOfSetupAreToldFromAHubThatIsAway(t *testing.T) {
	for name, o := range map[string]bus.Options{
		"creds":   {Creds: "/none"},
		"URL":     {URL: "nats://a b"},
		"context": {Context: "none"},
		"fleet":   {Fleet: "My_Fleet"},
	} {
		_, err := bus.ConnectClient(t.Context(), o)
		require.ErrorIs(t, err, bus.ErrSetup, name)
		require.NotErrorIs(t, err, bus.ErrUnreachable, name)
	}
	_, err := bus.ConnectClient(t.Context(), bus.Options{URL: "nats://127.0.0.1:1"})
	require.ErrorIs(t, err, bus.ErrUnreachable)
	require.NotErrorIs(t, err, bus.ErrSetup)
}

// Whatever names credentials, their account is that of what the connection is made with.
func TestCredentialsSayWhichAccountTheyAreOf(t *testing.T) {
	first, second := bustest.Start(t), bustest.Start(t)
	text := bustest.AgentCreds(t, first.Server, "berlin")
	own, other := credsOfMember(t, first, "berlin"), credsOfMember(t, second, "berlin")
	home := t.TempDir()
	folder := filepath.Join(home, "nats", "context")
	require.NoError(t, os.MkdirAll(folder, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "edge.json"), []byte(`{"url":"nats://127.0.0.1:1","creds":"`+own+`"}`), 0o600))
	getenv := func(pairs map[string]string) func(string) string {
		return func(name string) string {
			if name == "XDG_CONFIG_HOME" {
				return home
			}
			return pairs[name]
		}
	}
	is, err := bus.Options{CredsText: text}.Account()
	require.NoError(t, err)
	another, err := bus.Options{Creds: other}.Account()
	require.NoError(t, err)
	require.Regexp(t, "^A[A-Z2-7]{55}$", is)
	require.NotEqual(t, is, another)
	for name, c := range map[string]struct {
		options bus.Options
		want    string
	}{
		"a text before a file":               {bus.Options{CredsText: text, Creds: other}, is},
		"a file":                             {bus.Options{Creds: own}, is},
		"a file before the environment":      {bus.Options{Creds: own, Getenv: getenv(map[string]string{"NATS_CREDS": other})}, is},
		"the environment":                    {bus.Options{Getenv: getenv(map[string]string{"NATS_CREDS": own})}, is},
		"a context":                          {bus.Options{Context: "edge", Getenv: getenv(nil)}, is},
		"a context before the environment":   {bus.Options{Context: "edge", Getenv: getenv(map[string]string{"NATS_CREDS": other})}, is},
		"a context that the environment has": {bus.Options{Getenv: getenv(map[string]string{"NATS_CONTEXT": "edge"})}, is},
		"nothing":                            {bus.Options{Getenv: getenv(nil)}, ""},
	} {
		found, err := c.options.Account()
		require.NoError(t, err, name)
		require.Equal(t, c.want, found, name)
	}
	_, err = bus.Options{Creds: "/none"}.Account()
	require.ErrorIs(t, err, bus.ErrSetup)
}
