package disk_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/agent/disk"
)

func TestASealedFileIsReadWithTheKeyOfItsFolderAlone(t *testing.T) {
	folder, elsewhere := t.TempDir(), t.TempDir()
	path := filepath.Join(folder, "index.json")
	key, err := disk.Key(folder)
	require.NoError(t, err)
	again, err := disk.Key(folder)
	require.NoError(t, err)
	require.Equal(t, key, again)
	other, err := disk.Key(elsewhere)
	require.NoError(t, err)
	require.NotEqual(t, key, other)
	info, err := os.Stat(filepath.Join(folder, "key"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	given := map[string]string{"key": "of a piece"}
	file, err := disk.SealedFile(path)
	require.NoError(t, err)
	require.NoError(t, file.Write(given))
	stored, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NotContains(t, string(stored), "piece")
	var found map[string]string
	require.NoError(t, file.Read(&found))
	require.Equal(t, given, found)
	require.Error(t, disk.OpenValue("index.json", other, stored, &found))

	moved := filepath.Join(folder, "other.json")
	require.NoError(t, os.Rename(path, moved))
	renamed, err := disk.SealedFile(moved)
	require.NoError(t, err)
	require.ErrorContains(t, renamed.Read(&found), "reading "+moved, "a file is not taken for another")
	require.NoError(t, os.WriteFile(filepath.Join(folder, "key"), []byte("cut"), 0o600))
	_, err = disk.Key(folder)
	require.ErrorContains(t, err, "found 3 bytes, expected 32")
}

func TestAKeyThatOthersMayReadIsRefused(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	folder := t.TempDir()
	_, err := disk.Key(folder)
	require.NoError(t, err)
	path := filepath.Join(folder, "key")
	require.NoError(t, os.Chmod(path, 0o644))
	for _, read := range []func() error{
		func() error { _, err := disk.Key(folder); return err },
		func() error { _, err := disk.SealedFile(filepath.Join(folder, "index.json")); return err },
	} {
		require.ErrorContains(t, read(), path+" may be read by others, its mode is 0644, expected 0600: chmod 600 "+path)
	}
}
