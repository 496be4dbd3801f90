package upgrade_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"flotilla/core/api"
	"flotilla/core/strict"
	"flotilla/core/validate/upgrades"
	"flotilla/tests/documented"
)

const guide = "../../docs/updates.md"

// documentedReasons are the reasons of members in the guide, with the states in which each is given.
func documentedReasons(t *testing.T) map[string]string {
	t.Helper()
	states := map[string]string{}
	for _, row := range documented.Table(t, guide, "## Reason codes of members") {
		for reason := range strings.SplitSeq(row[1], ", ") {
			states[reason] += row[0] + ", "
		}
	}
	return states
}

// TestCodesOfTheGuideAreThoseOfTheProgram holds the tables of states, reasons and refusals against the constants: none
// is left out, and none is explained that is not there. The reply of each code is the one in its row.
func TestCodesOfTheGuideAreThoseOfTheProgram(t *testing.T) {
	var states, codes []string
	for _, row := range documented.Table(t, guide, "## States") {
		states = append(states, row[0])
	}
	require.ElementsMatch(t, constantsOf(t, "../api/upgrade_run.go", "State"), states)
	require.ElementsMatch(t, constantsOf(t, "../api/upgrade_run.go", "Reason"), slices.Collect(maps.Keys(documentedReasons(t))))
	for _, row := range documented.Table(t, guide, "## Why an operation is refused") {
		for code := range strings.SplitSeq(row[0], ", ") {
			codes = append(codes, code)
			require.Equal(t, (&api.Refusal{Code: code}).Status(), row[1], code)
		}
	}
	require.ElementsMatch(t, constantsOf(t, "../api/upgrade_refusal.go", "Code"), codes)
}

// TestEveryCodeIsGiven finds each reason and code where something gives it, and not only where it is declared.
func TestEveryCodeIsGiven(t *testing.T) {
	given := map[string]bool{}
	for _, pattern := range []string{"*.go", "../stage/*.go", "../api/*.go", "../../hub/runner/*.go", "../../hub/door/*.go", "../../agent/upgrader/*.go"} {
		paths, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, path := range paths {
			if !strings.HasSuffix(path, "_test.go") {
				namesIn(t, path, given)
			}
		}
	}
	names := declaredIn(t, "../api/upgrade_run.go", "Reason", "State")
	maps.Copy(names, declaredIn(t, "../api/upgrade_refusal.go", "Code"))
	require.Greater(t, len(names), 50)
	for name := range names {
		require.True(t, given[name], "nothing gives %s", name)
	}
}

// namesIn adds the constants that a file uses.
func namesIn(t *testing.T, path string, used map[string]bool) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	require.NoError(t, err)
	declared := map[*ast.Ident]bool{}
	ast.Inspect(parsed, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ValueSpec:
			for _, name := range n.Names {
				declared[name] = true
			}
		case *ast.Ident:
			used[n.Name] = used[n.Name] || !declared[n]
		}
		return true
	})
}

// constantsOf returns the string constants of a file whose names begin with one of the prefixes.
func constantsOf(t *testing.T, file string, prefixes ...string) []string {
	t.Helper()
	return slices.Collect(maps.Values(declaredIn(t, file, prefixes...)))
}

// declaredIn are the string constants of a file, by their names, which begin with one of the prefixes.
func declaredIn(t *testing.T, file string, prefixes ...string) map[string]string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	require.NoError(t, err)
	out := map[string]string{}
	ast.Inspect(parsed, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		for i, name := range spec.Names {
			begins := slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(name.Name, prefix) })
			if !begins || i >= len(spec.Values) {
				continue
			}
			if literal, isText := spec.Values[i].(*ast.BasicLit); isText {
				text, err := strconv.Unquote(literal.Value)
				require.NoError(t, err)
				out[name.Name] = text
			}
		}
		return true
	})
	return out
}

// TestExamplesOfTheGuide holds every YAML block of the guide to its rules.
func TestExamplesOfTheGuide(t *testing.T) {
	text, err := os.ReadFile(guide)
	require.NoError(t, err)
	seen := map[string]bool{}
	for _, part := range strings.Split(string(text), "```yaml\n")[1:] {
		block, _, _ := strings.Cut(part, "```")
		var head metav1.TypeMeta
		require.NoError(t, yaml.Unmarshal([]byte(block), &head))
		require.Equal(t, api.VersionFlotilla, head.APIVersion)
		seen[head.Kind] = true
		require.Empty(t, checkExample(t, head.Kind, []byte(block)), block)
	}
	require.Len(t, seen, 5)
}

func checkExample(t *testing.T, kind string, block []byte) strict.Faults {
	t.Helper()
	read := func(into any) { require.NoError(t, yaml.UnmarshalStrict(block, into)) }
	switch kind {
	case api.KindUpdateRun:
		var o api.UpdateRun
		read(&o)
		return upgrades.UpdateRun(&o)
	case api.KindUpdateStrategy:
		var o api.UpdateStrategy
		read(&o)
		return upgrades.UpdateStrategy(&o)
	case api.KindAutoUpgradeProfile:
		var o api.AutoUpgradeProfile
		read(&o)
		return upgrades.AutoUpgradeProfile(&o, nil)
	case api.KindVersionCatalog:
		var o api.VersionCatalog
		read(&o)
		return upgrades.VersionCatalog(&o)
	case api.KindMemberMaintenance:
		var o api.MemberMaintenance
		read(&o)
		return upgrades.MemberMaintenance(&o, func(zone string) bool { return zone == "Europe/Berlin" })
	}
	require.Fail(t, "no kind "+kind)
	return nil
}
