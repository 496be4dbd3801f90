package cli_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestClaims runs the scripts that show what the documents claim, one after the other against one fleet of three
// members, admitted.
func TestClaims(t *testing.T) {
	var shared *runner
	runScripts(t, "claims", func(*testing.T) *runner {
		if shared == nil {
			fleet := startFleet(t)
			admitAll(t, fleet)
			shared = &runner{env: liveEnvironment(fleet), mask: maskLive}
		}
		return shared
	})
}

// top is the folder of the repository. Scripts run elsewhere, so it is found before.
var top, errTop = filepath.Abs("../..")

// documents are the texts that claim something, their line breaks taken away.
var documents = sync.OnceValues(func() (string, error) {
	paths, err := filepath.Glob(filepath.Join(top, "docs", "*.md"))
	if err := errors.Join(errTop, err); err != nil {
		return "", err
	}
	var all strings.Builder
	for _, path := range append(paths, filepath.Join(top, "README.md")) {
		text, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		all.WriteString(unbroken(string(text)) + "\n")
	}
	return all.String(), nil
})

func unbroken(text string) string { return strings.Join(strings.Fields(text), " ") }

// requireClaim wants a document to claim so.
func requireClaim(t *testing.T, claim string) {
	t.Helper()
	all, err := documents()
	require.NoError(t, err)
	if !strings.Contains(all, unbroken(claim)) {
		require.Fail(t, "no document claims this any more: "+claim)
	}
}
