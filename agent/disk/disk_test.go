package disk_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/agent/disk"
	"flotilla/bus/bustest"
)

func TestAFileIsReplacedWhole(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.json")
	var found map[string]int
	require.ErrorIs(t, disk.Read(path, &found), fs.ErrNotExist)
	require.NoError(t, disk.Write(path, map[string]int{"a": 1, "b": 2}))
	require.NoError(t, disk.Write(path, map[string]int{"a": 3}))
	require.NoError(t, disk.Read(path, &found))
	require.Equal(t, map[string]int{"a": 3}, found)

	require.Error(t, disk.Write(path, func() {}), "what cannot be written leaves the file alone")
	require.Error(t, disk.Write(filepath.Join(dir, "none", "a.json"), 1))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "taken"), 0o700))
	require.Error(t, disk.Replace(filepath.Join(dir, "taken"), []byte("x"), true))
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 2, "nothing half written is left")

	require.NoError(t, os.WriteFile(path, []byte(`{"a":`), 0o600))
	require.ErrorContains(t, disk.Read(path, &found), "reading "+path)
}

// While the disk is full the file stays as it was, and nothing half written takes room.
func TestAFullDiskTakesNothingAway(t *testing.T) {
	bustest.OnDisks(t, func(t *testing.T, full *bustest.Disk) {
		path := filepath.Join(full.Dir, "a.json")
		require.NoError(t, disk.Write(path, "before"))
		full.Fill()
		require.Error(t, disk.Write(path, strings.Repeat("after", 64<<10)))
		var found string
		require.NoError(t, disk.Read(path, &found))
		require.Equal(t, "before", found)
		left, err := os.ReadDir(full.Dir)
		require.NoError(t, err)
		require.Len(t, left, 1)
		full.Free()
		require.NoError(t, disk.Write(path, "after"))
		require.NoError(t, disk.Read(path, &found))
		require.Equal(t, "after", found)
	})
}

func TestAFolderIsReadWithoutWhatIsHalfWritten(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "deep", "down")
	var found []string
	take := func(s string) { found = append(found, s) }
	require.NoError(t, disk.ReadFolder(folder, take))
	require.Empty(t, found)
	require.NoError(t, disk.Write(filepath.Join(folder, "b.json"), "second"))
	require.NoError(t, disk.Write(filepath.Join(folder, "a.json"), "first"))
	half := filepath.Join(folder, disk.Temporary+"1")
	require.NoError(t, os.WriteFile(half, []byte(`"hal`), 0o600))
	require.NoError(t, disk.ReadFolder(folder, take))
	require.Equal(t, []string{"first", "second"}, found)
	require.NoFileExists(t, half)

	require.NoError(t, os.WriteFile(filepath.Join(folder, "c.json"), []byte("{}"), 0o600))
	require.ErrorContains(t, disk.ReadFolder(folder, take), "c.json", "what cannot be read is not left out")
}
