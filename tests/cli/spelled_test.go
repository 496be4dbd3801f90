package cli_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/hub/flotilla/cli"
	"flotilla/hub/flotilla/cli/session"
)

// TestEveryHintOfTheHubIsACommand finds what the hub and the core put into Next, with words in place of what is
// only known later: each of them is one command that can be typed, with flags that there are.
func TestEveryHintOfTheHubIsACommand(t *testing.T) {
	found := 0
	for _, root := range []string{"../../hub", "../../core"} {
		require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "hub/flotilla/") {
				return err
			}
			for _, hint := range spelled(t, path) {
				found++
				judge(t, path, hint)
			}
			return nil
		}))
	}
	require.Greater(t, found, 60)
}

func judge(t *testing.T, path, hint string) {
	t.Helper()
	require.NotRegexp(t, placeholder, hint, path)
	words := splitWords(hint)
	if words[1] == "some" {
		return // a verb that is chosen later
	}
	if words[0] != "flotilla" {
		require.Contains(t, []string{"kubectl", "nsc"}, words[0], "%s: %s", path, hint)
		return
	}
	require.NotRegexp(t, `, | (or|and|with) `, hint, "%s: prose", path)
	if end := strings.Index(hint, " > "); end > 0 {
		words = splitWords(hint[:end])
	}
	var out bytes.Buffer
	env := offlineEnvironment()
	env.Out, env.Err = &out, &out
	require.Equal(t, session.ExitDone, cli.Main(t.Context(), append(words[1:], "--help"), env), "%s: %s\n%s", path, hint, out.String())
}

// verbs are those of formats.
var verbs = regexp.MustCompile(`%[svdq]`)

// spelled are the texts of a file that begin with the name of the program, whole: a text that goes on with
// something else goes on with a word.
func spelled(t *testing.T, path string) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	var hints []string
	ast.Inspect(file, func(n ast.Node) bool {
		e, ok := n.(ast.Expr)
		if !ok {
			return true
		}
		text, plain := wordsOf(e)
		if strings.HasPrefix(text, "flotilla ") || strings.HasPrefix(text, "kubectl ") {
			hints = append(hints, text)
			return false
		}
		return !plain
	})
	return hints
}

// wordsOf is a text as it would read, and whether there is nothing more to find in it.
func wordsOf(e ast.Expr) (text string, plain bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			text, _ = strconv.Unquote(e.Value)
			return text, true
		}
	case *ast.BinaryExpr:
		if left, _ := wordsOf(e.X); e.Op == token.ADD && left != "" {
			right, _ := wordsOf(e.Y)
			if right == "" {
				right = "some"
			}
			return left + right, false
		}
	case *ast.CallExpr:
		if called, ok := e.Fun.(*ast.SelectorExpr); ok && called.Sel.Name == "Sprintf" {
			text, _ = wordsOf(e.Args[0])
			return verbs.ReplaceAllString(text, "some"), false
		}
	}
	return "", false
}
