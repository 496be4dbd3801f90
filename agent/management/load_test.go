package management

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
)

const kubeconfig = `
apiVersion: v1
kind: Config
clusters:
- {name: one, cluster: {server: "https://one:6443"}}
- {name: two, cluster: {server: "https://two:6443"}}
contexts:
- {name: first, context: {cluster: one, user: agent, namespace: fleet}}
- {name: second, context: {cluster: two, user: agent}}
users:
- {name: agent, user: {token: secret}}
current-context: first
`

// The context says which cluster, and in which namespace; neither says nothing wrong when it is left out.
func TestAContextSaysClusterAndNamespace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "management")
	require.NoError(t, os.WriteFile(path, []byte(kubeconfig), 0o600))
	for context, want := range map[string]string{
		"":       "Cluster fleet/berlin at https://one:6443",
		"second": "Cluster default/berlin at https://two:6443",
	} {
		config, namespace, err := Load(path, context)
		require.NoError(t, err)
		view, err := Open(config, namespace, "berlin")
		require.NoError(t, err)
		require.Equal(t, want, view.String())
	}
	view, err := Open(&rest.Config{Host: "https://self"}, "", "berlin")
	require.NoError(t, err)
	require.Equal(t, "Cluster default/berlin at https://self", view.String())

	_, _, err = Load(path, "third")
	require.ErrorContains(t, err, `context "third" does not exist`)
	_, _, err = Load(filepath.Join(t.TempDir(), "nothing"), "")
	require.ErrorContains(t, err, "reading kubeconfig ")
}
