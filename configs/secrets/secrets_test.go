package secrets_test

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/configs/secrets"
	"flotilla/core/seal"
)

func created(t *testing.T) (path string, keys *seal.Keyring) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "secrets.json")
	require.NoError(t, secrets.Create(path, rand.Reader))
	keys, err := secrets.Source{File: path}.Read(t.Context())
	require.NoError(t, err)
	return path, keys
}

func TestSecretsAreTheSameFromAFileACommandAndTheEnvironment(t *testing.T) {
	path, keys := created(t)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	for _, source := range []secrets.Source{{File: path}, {Command: "cat " + path}, {Text: string(text)}} {
		found, err := source.Read(t.Context())
		require.NoError(t, err)
		require.Equal(t, keys, found)
		require.NotContains(t, source.String(), string(text))
	}
	again, err := secrets.Text(keys)
	require.NoError(t, err)
	require.Equal(t, string(text), string(again))
	_, other := created(t)
	require.NotEqual(t, keys, other)
}

func TestAFileThatOthersMayReadIsRefused(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	path, _ := created(t)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	for _, mode := range []os.FileMode{0o604, 0o640, 0o660, 0o644, 0o601} {
		require.NoError(t, os.Chmod(path, mode))
		_, err := secrets.Source{File: path}.Read(t.Context())
		require.ErrorContains(t, err, "may be read by others")
		require.ErrorContains(t, err, "chmod 600 "+path)
	}
	require.NoError(t, os.Chmod(path, 0o400))
	_, err = secrets.Source{File: path}.Read(t.Context())
	require.NoError(t, err)
}

func TestSecretsThatAreThereAreNotReplaced(t *testing.T) {
	path, keys := created(t)
	require.ErrorContains(t, secrets.Create(path, rand.Reader), "is there already")
	found, err := secrets.Source{File: path}.Read(t.Context())
	require.NoError(t, err)
	require.Equal(t, keys, found)
}

func TestWhatIsWrongIsToldWithoutShowingASecret(t *testing.T) {
	const key = "c2VjcmV0c2VjcmV0"
	for name, c := range map[string]struct {
		source secrets.Source
		expect string
	}{
		"nothing":        {secrets.Source{}, "no secrets were given"},
		"no file":        {secrets.Source{File: filepath.Join(t.TempDir(), "none")}, "no such file"},
		"no JSON":        {secrets.Source{Text: key}, "found text that is no JSON object of secrets"},
		"another kind":   {secrets.Source{Text: `{"kind":"Pod"}`}, `kind: found "Pod", expected "Secrets"`},
		"newer":          {secrets.Source{Text: `{"kind":"Secrets","version":9}`}, "version: found 9, this build reads 1"},
		"short":          {secrets.Source{Text: `{"kind":"Secrets","version":1,"digests":"` + key + `"}`}, "digests: found 12 bytes, expected 32"},
		"failing":        {secrets.Source{Command: "echo " + key + "; echo no key named x >&2; exit 3"}, `exit status 3: "no key named x"`},
		"printing a lot": {secrets.Source{Command: "yes " + key + " | head -c 70000"}, "more than 65536 bytes"},
	} {
		_, err := c.source.Read(t.Context())
		require.ErrorContains(t, err, c.expect, name)
		if !strings.Contains(c.source.Command, key) { // what a person typed is shown
			require.NotContains(t, err.Error(), key, name)
		}
	}
}
