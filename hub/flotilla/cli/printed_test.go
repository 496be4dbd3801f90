package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"flotilla/hub/flotilla/cli/session"

	"github.com/stretchr/testify/require"
)

// Whatever a command prints of a file goes through one place.
func TestWhatCommandsPrintIsEscaped(t *testing.T) {
	file := filepath.Join(t.TempDir(), "bad.yaml")
	require.NoError(t, os.WriteFile(file, []byte("apiVersion: v1\nkind: \"Dep\\e[2Jloyment\"\nmetadata: {name: \"a\\u202eb\", namespace: shop}\n"), 0o600))
	var out, problems bytes.Buffer
	code := Main(t.Context(), []string{"apply", "--dry-run=client", "-f", file}, session.Environment{Out: &out, Err: &problems})
	require.NotZero(t, code)
	require.NotContains(t, out.String()+problems.String(), "\x1b")
	require.NotContains(t, out.String()+problems.String(), "\u202e")
}
