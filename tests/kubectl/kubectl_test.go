//go:build kubectl

package kubectl_test

import (
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/klog/v2"
)

// versions are those of kubectl that are tried.
var versions = []string{"v1.32", "v1.37"}

func TestMain(m *testing.M) {
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	m.Run()
}

// TestCommands runs each script with each kubectl.
func TestCommands(t *testing.T) { runScripts(t, startFleet(t), "testdata/commands") }

// runScripts runs those of a folder on one fleet, each in a namespace of its own.
func runScripts(t *testing.T, f fleet, folder string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(folder, "*.txt"))
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".txt")
		t.Run(name, func(t *testing.T) {
			for _, version := range versions {
				t.Run(version, func(t *testing.T) {
					t.Parallel()
					namespace := name + "-" + strings.ReplaceAll(version, ".", "-")
					newShell(t, f, version, namespace).run(t, readScript(t, path, version))
				})
			}
		})
	}
}
