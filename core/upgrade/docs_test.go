package upgrade_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"flotilla/core/api"
)

// TestEveryCodeIsDocumented finds each reason, state and refusal code of core/api in the guide.
func TestEveryCodeIsDocumented(t *testing.T) {
	guide, err := os.ReadFile("../../docs/updates.md")
	require.NoError(t, err)
	codes := constantsOf(t, "../api/upgrade_run.go", "Reason", "State")
	codes = append(codes, constantsOf(t, "../api/upgrade_refusal.go", "Code")...)
	require.Greater(t, len(codes), 50)
	for _, code := range codes {
		require.Contains(t, string(guide), code, "docs/updates.md says nothing about %s", code)
	}
}

// constantsOf returns the string constants of a file whose names begin with one of the prefixes.
func constantsOf(t *testing.T, file string, prefixes ...string) []string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	require.NoError(t, err)
	var out []string
	ast.Inspect(parsed, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		for i, name := range spec.Names {
			for _, prefix := range prefixes {
				if !strings.HasPrefix(name.Name, prefix) || i >= len(spec.Values) {
					continue
				}
				if literal, isText := spec.Values[i].(*ast.BasicLit); isText {
					text, err := strconv.Unquote(literal.Value)
					require.NoError(t, err)
					out = append(out, text)
				}
			}
		}
		return true
	})
	return out
}

// TestExamplesOfTheGuide holds every YAML block of the guide to its rules.
func TestExamplesOfTheGuide(t *testing.T) {
	guide, err := os.ReadFile("../../docs/updates.md")
	require.NoError(t, err)
	seen := map[string]bool{}
	for _, part := range strings.Split(string(guide), "```yaml\n")[1:] {
		block, _, _ := strings.Cut(part, "```")
		var head metav1.TypeMeta
		require.NoError(t, yaml.Unmarshal([]byte(block), &head))
		require.Equal(t, api.VersionFlotilla, head.APIVersion)
		seen[head.Kind] = true
		require.Empty(t, checkExample(t, head.Kind, []byte(block)), block)
	}
	require.Len(t, seen, 5)
}

func checkExample(t *testing.T, kind string, block []byte) api.Faults {
	t.Helper()
	read := func(into any) { require.NoError(t, yaml.UnmarshalStrict(block, into)) }
	switch kind {
	case api.KindUpdateRun:
		var o api.UpdateRun
		read(&o)
		return api.CheckUpdateRun(&o)
	case api.KindUpdateStrategy:
		var o api.UpdateStrategy
		read(&o)
		return api.CheckUpdateStrategy(&o)
	case api.KindAutoUpgradeProfile:
		var o api.AutoUpgradeProfile
		read(&o)
		return api.CheckAutoUpgradeProfile(&o, nil)
	case api.KindVersionCatalog:
		var o api.VersionCatalog
		read(&o)
		return api.CheckVersionCatalog(&o)
	case api.KindMemberMaintenance:
		var o api.MemberMaintenance
		read(&o)
		return api.CheckMemberMaintenance(&o, func(zone string) bool { return zone == "Europe/Berlin" })
	}
	require.Fail(t, "no kind "+kind)
	return nil
}
