// Package disktest looks at what agents keep on disk. Tests alone call it.
package disktest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/agent/disk"
)

// Journal is a copy of that of the agent with a data directory, which may be running, and the key of its values.
func Journal(t testing.TB, dir string) (*disk.Journal, []byte) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "journal"))
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "journal")
	require.NoError(t, os.WriteFile(path, text, 0o600))
	j, err := disk.OpenJournal(path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, j.Close()) })
	key, err := disk.Key(dir)
	require.NoError(t, err)
	return j, key
}
