package envelope_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"flotilla/core/envelope"
	"flotilla/tests/limits"
)

func document(t *testing.T, text string) (tree map[string]any) {
	t.Helper()
	require.NoError(t, yaml.Unmarshal([]byte(text), &tree))
	return tree
}

func TestForms(t *testing.T) {
	for text, want := range map[string]envelope.Form{
		`{apiVersion: placement.kubernetes-fleet.io/v1beta1, kind: ResourceEnvelope}`:                                              envelope.Namespaced,
		`{apiVersion: placement.kubernetes-fleet.io/v1, kind: ClusterResourceEnvelope}`:                                            envelope.ClusterWide,
		`{apiVersion: v1, kind: ConfigMap, metadata: {annotations: {kubernetes-fleet.io/envelope-configmap: "true"}}}`:             envelope.Config,
		`{apiVersion: v1, kind: ConfigMap, metadata: {annotations: {kubernetes-fleet.io/envelope-configmap: "false"}}}`:            envelope.None,
		`{apiVersion: v1, kind: Secret, metadata: {annotations: {kubernetes-fleet.io/envelope-configmap: "true"}}}`:                envelope.None,
		`{apiVersion: example.com/v1, kind: ConfigMap, metadata: {annotations: {kubernetes-fleet.io/envelope-configmap: "true"}}}`: envelope.None,
		`{apiVersion: example.com/v1, kind: ResourceEnvelope}`:                                                                     envelope.None,
		`{kind: 7}`: envelope.None,
	} {
		require.Equal(t, want, envelope.Of(document(t, text)), text)
	}
}

func TestObjectsAreOpenedInTheOrderOfTheirKeys(t *testing.T) {
	const head = `{apiVersion: v1, kind: ConfigMap, metadata: {annotations: {kubernetes-fleet.io/envelope-configmap: "true"}}, data: `
	items := envelope.Open(document(t, head+`{b: "p: &p 1\nq: *p", a: '{"big": 9007199254740993}', c: "[", d: "- x"}}`))
	require.Equal(t, []envelope.Item{
		{Key: "a", Object: map[string]any{"big": int64(9007199254740993)}},
		{Key: "b", Object: map[string]any{"p": int64(1), "q": int64(1)}},
		{Key: "c", Found: "a text that is no YAML, at line 1 of it"},
		{Key: "d", Found: "a list"},
	}, items)
	require.Empty(t, envelope.Open(document(t, `{apiVersion: v1, kind: ConfigMap, data: {a: "a: b"}}`)), "no envelope")
	half := `"a: ` + strings.Repeat("x", 500<<10) + `"`
	items = envelope.Open(document(t, head+"{a: "+half+", b: "+half+"}}"))
	require.NotNil(t, items[0].Object)
	require.Equal(t, "objects that are too large or too deep, aliases followed", items[1].Found, "all together")
}

// Whatever a text is, it is read within bounds, and nothing of it is told.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"a: &a [*a]", "a: &a {x: y}\nb: {<<: *a}", "kind: Secret\ndata: {a: hunter2", "---\n---\n", strings.Repeat("[", 9_000), "? {a: b}\n: c", "a: !!binary YQ==", "a: .inf"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		limits.Hold(t, len(text), func() {
			object, found := envelope.NewTexts().Parse(text)
			require.Equal(t, object == nil, found != "")
		})
	})
}

// What a text with aliases stands for goes by how long it is, and texts have the bounds of an envelope together.
func TestAliasesStandForNoMoreThanGoesByTheirText(t *testing.T) {
	aliased := func(long, times int) string {
		return "a: &a " + strings.Repeat("x", long) + "\nb: [" + strings.TrimSuffix(strings.Repeat("*a,", times), ",") + "]\n"
	}
	for text, fits := range map[string]bool{aliased(10, 50): true, aliased(10_000, 7): true, aliased(10_000, 9): false, aliased(1_000, 800): false, aliased(10, 1000): true} {
		object, found := envelope.NewTexts().Parse(text)
		require.Equal(t, fits, object != nil, "%d bytes: %s", len(text), found)
		if !fits {
			require.Equal(t, envelope.Beyond, found)
		}
	}
	texts := envelope.NewTexts()
	for i := range 20 {
		_, found := texts.Parse(aliased(10_000, 6))
		require.Equal(t, i >= 13, found == envelope.Beyond, "%d: %s", i, found)
	}
}

// An object may nest a hundred deep, its innermost value counted, and no deeper.
func TestHowDeepObjectsMayBe(t *testing.T) {
	const head = `{apiVersion: v1, kind: ConfigMap, metadata: {annotations: {kubernetes-fleet.io/envelope-configmap: "true"}}, data: `
	nested := func(deep int) string { return strings.Repeat("{a: ", deep) + "1" + strings.Repeat("}", deep) }
	for deep, fine := range map[int]bool{1: true, 99: true, 100: false, 200: false} {
		items := envelope.Open(document(t, head+`{a: "`+nested(deep)+`"}}`))
		require.Equal(t, fine, items[0].Object != nil, "%d deep: %s", deep, items[0].Found)
	}
}
