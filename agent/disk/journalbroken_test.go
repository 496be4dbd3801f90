package disk

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// After the system said that it could not bring the file to the disk nobody knows what is there: it is written anew
// before anything else, without what it does not give back.
func TestAFileThatCouldNotBeWrittenToTheDiskIsWrittenAnew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	j, err := OpenJournal(path)
	require.NoError(t, err)
	for _, name := range []string{"a", "lost", "b"} {
		require.NoError(t, j.Put(name, []byte(name), time.Time{}))
	}
	before, err := os.Stat(path)
	require.NoError(t, err)
	lost := j.held["lost"]
	_, err = j.file.WriteAt([]byte{0}, lost.at+lost.size-1)
	require.NoError(t, err)
	j.broken = true
	require.NoError(t, j.Put("c", []byte("c"), time.Time{}))
	after, err := os.Stat(path)
	require.NoError(t, err)
	require.False(t, os.SameFile(before, after))
	require.NoError(t, j.Close())

	j, err = OpenJournal(path)
	require.NoError(t, err)
	require.Len(t, j.Names(""), 3)
	require.NotContains(t, j.Names(""), "lost")
	require.NoError(t, j.Close())
}

// While there is no room for a file that is written anew the former one stays, and what is put is refused.
func TestAFileThatCannotBeWrittenAnewStays(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "folder")
	require.NoError(t, os.Mkdir(dir, 0o700))
	path := filepath.Join(dir, "journal")
	j, err := OpenJournal(path)
	require.NoError(t, err)
	require.NoError(t, j.Put("a", []byte("a"), time.Time{}))
	require.NoError(t, os.Rename(dir, dir+".away"))
	j.broken = true
	require.ErrorIs(t, j.Put("a", []byte("b"), time.Time{}), os.ErrNotExist)
	require.NoError(t, os.Rename(dir+".away", dir))
	value, err := j.Get("a")
	require.NoError(t, err)
	require.Equal(t, "a", string(value))
	require.NoError(t, j.Put("a", []byte("b"), time.Time{}))
	require.NoError(t, j.Close())
}
