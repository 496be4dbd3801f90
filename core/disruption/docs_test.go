package disruption

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const guide = "../../docs/node-disruption.md"

// The guide explains every code that a verdict may have, and no other.
func TestGuideExplainsEveryCode(t *testing.T) {
	text, err := os.ReadFile(guide)
	require.NoError(t, err)
	file, err := parser.ParseFile(token.NewFileSet(), "refusal.go", nil, 0)
	require.NoError(t, err)
	codes := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		if code, ok := spec.Values[0].(*ast.BasicLit); ok {
			require.Contains(t, string(text), "`"+strings.Trim(code.Value, `"`)+"`")
			codes[strings.Trim(code.Value, `"`)] = true
		}
		return true
	})
	require.Greater(t, len(codes), 25)
	_, table, _ := strings.Cut(string(text), "## How to read a verdict")
	table, _, _ = strings.Cut(table, "\n## ")
	for line := range strings.Lines(table) {
		cell, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), "|")
		if strings.HasPrefix(line, "| `") {
			for word := range strings.SplitSeq(cell, ",") {
				require.True(t, codes[strings.Trim(word, "` ")], "the guide explains %s, which no verdict has", word)
			}
		}
	}
}
