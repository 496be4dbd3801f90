package private

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAFileThatOthersMayReadIsRefused(t *testing.T) {
	t.Setenv(podVariable, "")
	path := filepath.Join(t.TempDir(), "keys.json")
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.WriteFile(path, []byte("secret"), 0o600))
	require.NoError(t, os.Symlink(path, link))
	for _, mode := range []fs.FileMode{0o604, 0o640, 0o660, 0o644, 0o601, 0o777} {
		require.NoError(t, os.Chmod(path, mode))
		for _, at := range []string{path, link} {
			want := fmt.Sprintf("%s may be read by others, its mode is %#o, expected 0600: chmod 600 %s", at, mode, at)
			require.EqualError(t, Check(at), want)
			_, err := Read(at, 10)
			require.EqualError(t, err, want)
			require.ErrorIs(t, err, ErrExposed)
		}
	}
	for _, mode := range []fs.FileMode{0o400, 0o600, 0o700} {
		require.NoError(t, os.Chmod(path, mode))
		text, err := Read(link, 6)
		require.NoError(t, err)
		require.Equal(t, "secret", string(text))
		_, err = Read(path, 5)
		require.EqualError(t, err, path+" holds more than 5 bytes")
	}
	require.ErrorIs(t, Check(filepath.Join(t.TempDir(), "none")), fs.ErrNotExist)
}

// A Secret in a pod: symbolic links to files of root, which a group may read, and with the usual mode everybody.
func TestInAPodModesAreThoseOfTheKubelet(t *testing.T) {
	t.Setenv(podVariable, "10.0.0.1")
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "..2026"), 0o755))
	require.NoError(t, os.Symlink("..2026", filepath.Join(dir, "..data")))
	require.NoError(t, os.Symlink("..data/keys.json", filepath.Join(dir, "keys.json")))
	path := filepath.Join(dir, "..2026", "keys.json")
	require.NoError(t, os.WriteFile(path, []byte("secret"), 0o600))
	for _, mode := range []fs.FileMode{0o644, 0o440, 0o640, 0o660} {
		require.NoError(t, os.Chmod(path, mode))
		text, err := Read(filepath.Join(dir, "keys.json"), 10)
		require.NoError(t, err)
		require.Equal(t, "secret", string(text))
	}
}

func TestAFileOfAnotherIsReadByItsGroup(t *testing.T) {
	const root, hub, other = 0, 65532, 1000
	for _, c := range []struct {
		owner, user int
		want        fs.FileMode
	}{
		{hub, hub, 0o600}, {root, root, 0o600}, {hub, root, 0o600}, {root, hub, 0o640}, {other, hub, 0o640},
	} {
		require.Equal(t, c.want, allowed(c.owner, c.user), "%+v", c)
	}
}
