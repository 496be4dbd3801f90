package status

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// written are the texts in the sources of folders.
func written(t *testing.T, patterns ...string) map[string]bool {
	t.Helper()
	texts := map[string]bool{}
	for _, pattern := range patterns {
		paths, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, paths)
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			ast.Inspect(file, func(n ast.Node) bool {
				if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
					text, _ := strconv.Unquote(literal.Value)
					texts[text] = true
				}
				return true
			})
		}
	}
	return texts
}

// TestConditionsOfTheDocumentAreThoseOfTheProgram holds the names of docs/conditions.md against those that are
// written: every reason and state of a condition is explained, and none is explained that nobody writes.
func TestConditionsOfTheDocumentAreThoseOfTheProgram(t *testing.T) {
	text, err := os.ReadFile("../../docs/conditions.md")
	require.NoError(t, err)
	name := regexp.MustCompile(`\b[A-Z][a-z]+[A-Z][A-Za-z]*\b`)
	for reason := range written(t, "reasons.go", "../api/status_rollout.go", "../rollout/ready.go") {
		if name.FindString(reason) == reason && reason != "" && reason != reasonFoundDrifts && reason != reasonNoDiffReporting { // which is an object's
			assert.True(t, regexp.MustCompile(`\b`+reason+`\b`).Match(text), "docs/conditions.md says nothing about %s", reason)
		}
	}

	said := written(t, "*.go", "../api/*.go", "../rollout/*.go", "../../hub/reporter/*.go", "../../hub/roller/*.go", "../../hub/door/*.go", "../../hub/door/*/*.go", "../../hub/scheduler/*.go")
	rows := 0
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(line, "| \n"), "|")
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| older") {
			continue
		}
		rows++
		named := cells[:1]
		if len(cells) == 4 {
			named = cells // a condition and the reasons of its three states
		} else if strings.Contains(string(text[strings.Index(string(text), "## Older names"):]), line) {
			named = cells[1:]
		}
		for _, word := range name.FindAllString(strings.Join(named, " "), -1) {
			own := strings.TrimPrefix(word, "ClusterResourcePlacement")
			assert.True(t, said[own] || said["Placement"+own], "docs/conditions.md explains %s, which nobody writes: %s", word, line)
		}
	}
	assert.Greater(t, rows, 40)
}
