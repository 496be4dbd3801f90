package bustest

import (
	"errors"
	"io/fs"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// CopyFolder copies a folder whose owner may still make and remove files in it: when one goes before it is read, all is
// copied again.
func CopyFolder(t testing.TB, to, from string) {
	t.Helper()
	for {
		err := os.CopyFS(to, os.DirFS(from))
		if !errors.Is(err, fs.ErrNotExist) {
			require.NoError(t, err)
			return
		}
		require.NoError(t, t.Context().Err())
		require.NoError(t, os.RemoveAll(to))
	}
}
