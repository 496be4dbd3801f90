package tests

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/tests/documented"
)

// TestFilesThatAKindAndAVerbNeed holds the tables of docs/adding.md to the sources: each file that names the example
// of a table stands in it, and no other does.
func TestFilesThatAKindAndAVerbNeed(t *testing.T) {
	for heading, name := range map[string]string{"## A kind that people write": "(KindMemberMaintenance|MaintenanceSpecs)", "## A verb": "VerbUserRevoke"} {
		var listed []string
		for _, row := range documented.Table(t, "../docs/adding.md", heading) {
			listed = append(listed, strings.Trim(row[0], "`"))
		}
		require.Equal(t, filesThatName(t, name), sorted(listed), heading)
	}
}

// filesThatName are the files of Go, tests apart, in which an identifier stands, or one of some.
func filesThatName(t *testing.T, name string) []string {
	t.Helper()
	whole := regexp.MustCompile(`\b` + name + `\b`)
	var files []string
	for _, room := range []string{"agent", "bus", "configs", "core", "hub", "subjects"} {
		require.NoError(t, filepath.WalkDir("../"+room, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			if whole.Match(text) {
				files = append(files, strings.TrimPrefix(path, "../"))
			}
			return err
		}))
	}
	return sorted(files)
}
