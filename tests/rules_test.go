package tests

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/tests/documented"
)

// cited is the number of a rule in a comment, and defined one in the first cell of a table.
var (
	cited   = regexp.MustCompile(`\b(?:[DHN][1-9][0-9]?|A[0-9]{2})\b`)
	comment = regexp.MustCompile(`(?m)(?:^|\s)//\s.*$`)
	// elsewhere is a place in a text that is not here.
	elsewhere = regexp.MustCompile(`[( ][Ss]ections? [0-9]|\b[a-z]+\.md [0-9]|\bspec/[a-z]+\.md`)
)

// Every rule that a comment or a document cites by its number is one of docs/rules.md.
func TestEveryRuleThatIsCitedIsThere(t *testing.T) {
	rules := map[string]bool{}
	for _, heading := range []string{"## Placement", "## Update runs", "## Nodes", "## Attacks"} {
		for _, row := range documented.Table(t, "../docs/rules.md", heading) {
			require.False(t, rules[row[0]], "%s is there twice", row[0])
			require.Regexp(t, "^"+cited.String()+"$", row[0])
			rules[row[0]] = true
		}
	}
	citations := 0
	for _, path := range texts(t) {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		lines := []string{string(text)}
		if filepath.Ext(path) == ".go" {
			lines = comment.FindAllString(string(text), -1)
			require.NotRegexp(t, elsewhere, strings.Join(lines, "\n"), "%s: cite a rule of docs/rules.md, or say why", path)
		}
		for _, number := range cited.FindAllString(strings.Join(lines, "\n"), -1) {
			citations++
			require.True(t, rules[number], "%s cites %s, which docs/rules.md does not have", path, number)
		}
	}
	require.Greater(t, citations, 200)
}

// texts are the programs, and the documents about them.
func texts(t *testing.T) (paths []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && slices.Contains([]string{".git", "testdata", "bin", "seeds"}, entry.Name()) {
			return filepath.SkipDir
		}
		if ext := filepath.Ext(path); ext == ".go" || ext == ".md" {
			paths = append(paths, path)
		}
		return nil
	}))
	return paths
}
