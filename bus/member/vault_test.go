package member_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/bus/member"
)

// Who an agent is lies in a file that nobody else may read, and is refused once others may.
func TestAnIdentityThatOthersMayReadIsRefused(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	for _, name := range []string{"identity.enrolling.json", "identity.json"} {
		dir := t.TempDir()
		vault := member.Folder(dir)
		_, err := member.OpenWallet(vault, bustest.Token(t, "berlin"))
		require.NoError(t, err)
		path := filepath.Join(dir, name)
		require.NoError(t, os.Rename(filepath.Join(dir, "identity.enrolling.json"), path))
		require.NoError(t, os.Chmod(path, 0o640))
		want := path + " may be read by others, its mode is 0640, expected 0600: chmod 600 " + path
		_, err = member.OpenWallet(vault, bustest.Token(t, "berlin"))
		require.ErrorContains(t, err, want)
		require.NoError(t, os.Chmod(path, 0o600))
		_, err = member.OpenWallet(vault, nil)
		require.NoError(t, err)
	}
}
