package hubd_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/bus/store"
	"flotilla/bus/streams"
	"flotilla/configs/secrets"
	"flotilla/core/api"
	"flotilla/hub/hubd"
	"flotilla/subjects"
)

// A hub with a server of its own makes its secrets once, and never again beside what is sealed with others.
func TestAHubKeepsTheSecretsOfItsFolder(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	dir := t.TempDir()
	h := start(t, inFolder(t, dir))
	leading(t, h)
	h.Stop()
	path := filepath.Join(dir, secrets.File)
	made, err := os.ReadFile(path)
	require.NoError(t, err)

	again := start(t, inFolder(t, dir))
	leading(t, again)
	again.Stop()
	kept, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(made), string(kept))

	require.NoError(t, os.Chmod(path, 0o644))
	require.ErrorContains(t, startError(t, inFolder(t, dir)), "may be read by others")
	require.NoError(t, os.Remove(path))
	err = startError(t, inFolder(t, dir))
	require.ErrorContains(t, err, "is not there, but "+dir+" holds streams")
	require.ErrorContains(t, err, "flotilla get -o yaml")
	require.NoFileExists(t, path)
}

func TestAHubOnServersOfOthersNeedsSecrets(t *testing.T) {
	server := bustest.Start(t)
	err := startError(t, hubd.Options{Fleet: bustest.Fleet, Log: zerolog.Nop(), Bus: server.TCP()})
	require.ErrorContains(t, err, "flotilla secrets create secrets.json")
}

// Whoever does not hold what the fleet is sealed with does not lead, and says which secret is lacking.
func TestAHubWithOtherSecretsDoesNotLead(t *testing.T) {
	server := bustest.Start(t)
	server.Lead(t)
	path := filepath.Join(t.TempDir(), "other.json")
	require.NoError(t, secrets.Create(path, zeros{}))
	h := start(t, hubd.Options{Fleet: bustest.Fleet, Name: "other", Log: zerolog.Nop(), Bus: server.TCP(), Secrets: secrets.Source{File: path}})
	require.ErrorIs(t, <-h.Failed(), streams.ErrSecrets)
}

// A hub goes on leading, and leads again, while the file of its secrets cannot be read.
func TestNoFileIsNeededToLeadAgain(t *testing.T) {
	server := bustest.Start(t)
	path := bustest.SecretsFile(t)
	h := start(t, hubd.Options{Fleet: bustest.Fleet, Name: "hub", Log: server.Log(), Bus: server.TCP(), Secrets: secrets.Source{File: path}, Lead: quickLead})
	leading(t, h)
	require.NoError(t, os.Remove(path))
	server.Stop(t)
	requireNotLeading(t, h)
	server.Restart(t)
	leading(t, h)
	require.Empty(t, h.Failed())
}

// State of a build that did not seal, or stored content otherwise, is refused, with how to start anew.
func TestStateOfAnOlderBuildIsRefused(t *testing.T) {
	for want, sealing := range map[string]api.Sealing{
		"which did not seal content":                              {},
		"which stored content in format 0, this one reads 1: run": streams.Sealing(bustest.Keys()),
	} {
		t.Run(want, func(t *testing.T) {
			server := bustest.Start(t)
			leader := server.Lead(t)
			older := api.Layout{Header: api.NewHeader(api.KindLayout), Step: streams.LayoutStep(), Sealing: sealing}
			_, err := leader.Writer.Write(bustest.Context(t), store.Put(subjects.LayoutKey, older, leader.State.Revision(subjects.LayoutKey)))
			require.NoError(t, err)
			h := start(t, hubd.Options{Fleet: bustest.Fleet, Name: "newer", Log: zerolog.Nop(), Bus: server.TCP(), Secrets: secrets.Source{Text: bustest.Secrets}})
			err = <-h.Failed()
			require.ErrorIs(t, err, streams.ErrOlderState)
			require.ErrorContains(t, err, want)
			require.ErrorContains(t, err, "flotilla get -o yaml")
			require.ErrorContains(t, err, "flotilla apply")
		})
	}
}

func inFolder(t *testing.T, dir string) hubd.Options {
	t.Helper()
	o := embedded(t, "hub")
	o.Server.Dir = dir
	return o
}

// zeros is what no secret is to be made of.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

func startError(t *testing.T, o hubd.Options) error {
	t.Helper()
	h, err := hubd.New(o)
	require.NoError(t, err)
	t.Cleanup(h.Stop)
	err = h.Start(bustest.Context(t))
	require.Error(t, err)
	return err
}
