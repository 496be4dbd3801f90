package bustest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// CopyFolder copies a folder with the modes of its files, while its owner may still make and remove some: when one goes
// before it is read, all is copied again.
func CopyFolder(t testing.TB, to, from string) {
	t.Helper()
	for {
		err := os.CopyFS(to, os.DirFS(from))
		if err == nil {
			err = copyModes(to, from)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			require.NoError(t, err)
			return
		}
		require.NoError(t, t.Context().Err())
		require.NoError(t, os.RemoveAll(to))
	}
}

func copyModes(to, from string) error {
	return filepath.WalkDir(to, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		within, err := filepath.Rel(to, path)
		if err != nil {
			return err
		}
		info, err := os.Stat(filepath.Join(from, within))
		if err != nil {
			return err
		}
		return os.Chmod(path, info.Mode().Perm())
	})
}
