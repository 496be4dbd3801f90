package brokers

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/tests/planted"
)

// A value of a Secret is on none of three servers, whether streams are asked or files are read, nor with agents, in logs
// or in what a user of the servers hears; where somebody leaves it unsealed the same search finds it.
func TestAPlantedValueIsOnNoServer(t *testing.T) {
	s := newSystem(t, "n1", "n2", "n3")
	s.whole(t)
	s.hub("hub-1")
	hub := s.client(s.url(), filepath.Join(s.accounts, "hub.creds"), "")
	ear := planted.Listen(t, hub.NC)
	admin := s.admin()
	s.join(admin, "oslo", s.url("n1"))
	s.join(admin, "rome", s.url("n2"))
	s.placed(admin, 1, 2)
	require.Equal(t, 3, s.replicas(t))

	inspector, err := bus.ConnectClient(bustest.Context(t), s.reach(s.url(), filepath.Join(s.accounts, "inspector.creds"), ""))
	require.NoError(t, err)
	t.Cleanup(inspector.Close)
	folders := []string{s.agents}
	for _, running := range s.running {
		folders = append(folders, running.StoreDir())
	}
	require.Len(t, folders, 4)
	found, seen := s.secret.Messages(t, inspector)
	require.Greater(t, seen, 20)
	require.Empty(t, found)
	for _, folder := range folders {
		found, seen = s.secret.Files(t, folder)
		require.Greater(t, seen, 5, folder)
		require.Empty(t, found)
	}
	found, seen = ear.Heard(t, s.secret)
	require.Greater(t, seen, 50)
	require.Empty(t, found)
	require.False(t, s.secret.In(s.log.Text()))

	_, err = hub.JS.Publish(bustest.Context(t), hub.Fleet.AuditEvent("test", "planted"), []byte(s.secret.Text))
	require.NoError(t, err)
	found, _ = s.secret.Messages(t, inspector)
	require.Len(t, found, 1)
	found, _ = ear.Heard(t, s.secret)
	require.NotEmpty(t, found)
	for _, folder := range folders[1:] {
		bustest.Eventually(t, func() error {
			if found, _ := s.secret.Files(t, folder); len(found) == 0 {
				return errors.New("not on the disk of " + folder + " yet")
			}
			return nil
		})
	}
}
