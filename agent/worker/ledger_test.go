package worker

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/tests/elsewhen"
)

// A result that could not be saved is saved with the next look at its placement, though nothing changed since; one
// that is on disk is not written again.
func TestAResultThatCouldNotBeSavedIsSavedLater(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, "berlin")
	l, err := loadLedger(s, bustest.Start(t).Agent(t, "berlin"))
	require.NoError(t, err)
	path := filepath.Join(dir, resultName("web"))
	obstacle := filepath.Join(path, "in the way")
	require.NoError(t, os.MkdirAll(obstacle, 0o700))
	result := api.PlacementResult{Placement: "web", UID: "u", Applied: "True"}
	require.Error(t, l.put(result, elsewhen.Now()))
	require.Error(t, l.put(result, elsewhen.Now()), "it is still in the way")

	require.NoError(t, os.RemoveAll(path))
	require.NoError(t, l.put(result, elsewhen.Now().Add(time.Hour)))
	saved, err := s.loadResults()
	require.NoError(t, err)
	require.Equal(t, "True", saved["web"].Applied)

	require.NoError(t, os.Remove(path))
	require.NoError(t, l.put(result, elsewhen.Now()))
	require.NoFileExists(t, path)
}
