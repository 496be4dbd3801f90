package brokers

import (
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/bus/server"
	"flotilla/hub/dev"
	"flotilla/hub/hubd"
	"flotilla/subjects"
	"flotilla/tests/elsewhen"
)

// A fleet in one process starts again after its first admin was revoked.
func TestAFleetOutlivesItsFirstAdmin(t *testing.T) {
	o := dev.Options{Log: zerolog.Nop(), Hub: hubd.Options{
		Now: elsewhen.Now, Fleet: fleetName, Log: zerolog.Nop(), Server: &server.Options{Dir: t.TempDir(), Port: -1},
	}}
	for _, revoked := range []bool{false, true} {
		fleet, err := dev.Start(bustest.Context(t), o)
		require.NoError(t, err)
		require.NoError(t, fleet.AdmitExamples(bustest.Context(t)))
		server := fleet.Hub.Server()
		if revoked {
			require.Empty(t, server.OperatorCreds())
		} else {
			require.FileExists(t, server.OperatorCreds())
		}
		require.NoError(t, server.Revoke(subjects.AccountPeople, server.FirstPerson()))
		require.NoError(t, fleet.Stop())
	}
}
