package hostile

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/subjects"
)

// A server lets everybody do what the table of subjects/SUBJECTS.md says, and nothing else.
func TestPermissionsAreThoseOfTheTable(t *testing.T) {
	f := subjects.Fleet{Name: bustest.Fleet}
	for _, party := range f.Parties(attacker) {
		t.Run(party.Name, func(t *testing.T) {
			server := bustest.Start(t) // its own: who may remove streams does
			nc, err := nats.Connect(server.URL(), credsOf(t, server, party.Name), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
			require.NoError(t, err)
			t.Cleanup(nc.Close)
			for _, probe := range f.Probes(attacker, victim) {
				require.Equal(t, party.Permissions.MayDo(probe), permitted(t, nc, probe), "%s: %s", probe.What, probe.Subject)
			}
		})
	}
}

// permitted tries it. The server tells of a violation before it answers what comes next.
func permitted(t *testing.T, nc *nats.Conn, probe subjects.Probe) bool {
	t.Helper()
	quoted := fmt.Sprintf("Publish to %q", probe.Subject)
	if probe.Subscribe {
		quoted = fmt.Sprintf("Subscription to %q", probe.Subject)
		s, err := nc.SubscribeSync(probe.Subject)
		require.NoError(t, err)
		defer func() { _ = s.Unsubscribe() }()
	} else {
		require.NoError(t, nc.Publish(probe.Subject, nil))
	}
	require.NoError(t, nc.Flush())
	err := nc.LastError() // the newest, of whichever probe
	return err == nil || !strings.Contains(err.Error(), quoted)
}

func credsOf(t *testing.T, server *bustest.Server, party string) nats.Option {
	t.Helper()
	switch party {
	case subjects.HubUser:
		return nats.UserCredentials(server.HubCreds())
	case subjects.InspectorUser:
		return nats.UserCredentials(server.InspectorCreds())
	}
	if role, err := api.ParseRole(party); err == nil {
		text, _, err := server.PersonCreds(attacker, role, 0)
		require.NoError(t, err)
		return nats.UserCredentialBytes(text)
	}
	user, err := nkeys.CreateUser()
	require.NoError(t, err)
	key, err := user.PublicKey()
	require.NoError(t, err)
	token, _, err := server.Issuer().Sign(party, attacker, key, 0)
	require.NoError(t, err)
	seed, err := user.Seed()
	require.NoError(t, err)
	text, err := jwt.FormatUserConfig(token, seed)
	require.NoError(t, err)
	return nats.UserCredentialBytes(text)
}
