package disruption

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"flotilla/core/api"
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

// The guide's examples are read as they stand.
func TestGuideExamples(t *testing.T) {
	text, err := os.ReadFile(guide)
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	require.Len(t, blocks, 2)
	budgets := "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a}\nspec:\n  disruption:\n    " + strings.ReplaceAll(blocks[0][1], "\n", "\n    ")
	raw, err := yaml.YAMLToJSON([]byte(budgets))
	require.NoError(t, err)
	decoded, faults := api.Decode(raw)
	require.Empty(t, faults)
	require.Empty(t, decoded.Notes)
	saturday := at(21, 0, 0)
	parsed := ParseBudgets(decoded.Pool.Spec.Budgets(), time.LoadLocation)
	require.Equal(t, []Count{0, 5, 5, 0}, []Count{
		parsed.Limit(saturday.Add(-1), 10, api.ReasonEmpty, Rules{}), parsed.Limit(saturday, 10, api.ReasonEmpty, Rules{}),
		parsed.Limit(at(22, 23, 59), 10, api.ReasonEmpty, Rules{}), parsed.Limit(at(23, 0, 0), 10, api.ReasonEmpty, Rules{}),
	})
	raw, err = yaml.YAMLToJSON([]byte(blocks[1][1]))
	require.NoError(t, err)
	_, faults = api.Decode(raw)
	require.Empty(t, faults)
}
