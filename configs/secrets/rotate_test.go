package secrets_test

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/configs/secrets"
	"flotilla/core/seal"
)

func kept(t *testing.T, path string) *seal.Keyring {
	t.Helper()
	keys, err := secrets.Source{File: path}.Read(t.Context())
	require.NoError(t, err)
	return keys
}

// A rotation puts a secret in front and loses none; former ones go once nothing is sealed with them, and not before. The
// file stays its owner's, and nothing is left beside it.
func TestSecretsAreRotatedAndPruned(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "secrets.json")
	require.NoError(t, secrets.Create(path, rand.Reader))
	first := kept(t, path)
	name, err := secrets.Rotate(path, rand.Reader)
	require.NoError(t, err)
	rotated := kept(t, path)
	require.Equal(t, first.Digests, rotated.Digests)
	require.Len(t, rotated.Content, 2)
	require.Equal(t, first.Content[0], rotated.Content[1])
	require.Equal(t, seal.Name(rotated.Content[0]), name)

	_, err = secrets.Prune(path, []string{name, seal.Name(first.Content[0])})
	require.ErrorContains(t, err, "content is sealed with secret "+seal.Name(first.Content[0]))
	require.Equal(t, rotated, kept(t, path), "nothing was changed")
	gone, err := secrets.Prune(path, []string{name})
	require.NoError(t, err)
	require.Equal(t, 1, gone)
	require.Equal(t, rotated.Content[:1], kept(t, path).Content)

	found, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, found, 1)
	info, err := found[0].Info()
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	_, err = secrets.Rotate(filepath.Join(dir, "none"), rand.Reader)
	require.ErrorIs(t, err, os.ErrNotExist)
}
