package pod

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// account writes the files of a service account.
func account(t *testing.T, files ...string) string {
	t.Helper()
	folder := t.TempDir()
	for _, name := range files {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(name+" of it\n"), 0o600))
	}
	return folder
}

func TestAPodIsFound(t *testing.T) {
	here := map[string]string{"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "6443"}
	folder := account(t, "token", "namespace")
	p, err := Find(folder, func(name string) string { return here[name] })
	require.NoError(t, err)
	require.Equal(t, "namespace of it", p.Namespace)
	config := p.Config()
	require.Equal(t, "https://[fd00::1]:6443", config.Host)
	require.Equal(t, "token of it", config.BearerToken)
	require.Equal(t, filepath.Join(folder, "token"), config.BearerTokenFile)
	require.Equal(t, filepath.Join(folder, "ca.crt"), config.CAFile)
}

func TestOutsideOfAPodThereIsNone(t *testing.T) {
	nowhere := func(string) string { return "" }
	here := func(string) string { return "10.0.0.1" }
	p, err := Find("", nowhere)
	require.NoError(t, err)
	require.Nil(t, p)

	_, err = Find(account(t, "token", "namespace"), nowhere)
	require.ErrorContains(t, err, "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT do not say where the API server is")
	_, err = Find(account(t), here)
	require.ErrorContains(t, err, "the service account of the pod: open ")
	_, err = Find(account(t, "token"), here)
	require.ErrorContains(t, err, "the namespace of the pod: open ")
}
