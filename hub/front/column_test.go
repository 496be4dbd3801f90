package front

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/tests/elsewhen"
)

// Columns go down what definitions name, each value once; what goes down any number of levels, or unites, costs as much as somebody likes.
func TestColumnsOfDefinitions(t *testing.T) {
	object := map[string]any{"status": map[string]any{
		"phase": "Up", "long": strings.Repeat("ä", 1000), "list": []any{"a", "b"},
		"conditions": []any{map[string]any{"type": "Ready", "status": "True"}, map[string]any{"type": "Other", "status": "False"}},
	}, "metadata": map[string]any{"labels": map[string]any{"a.b/c": "d"}}}
	for path, want := range map[string]any{
		".status.phase":     "Up",
		".status.list[1]":   "b",
		".status.list[*]":   "a",
		".status.list[0:1]": "a",
		".status.nothing":   nil,
		`.status.conditions[?(@.type=="Ready")].status`: "True",
		`.metadata.labels.a\.b/c`:                       "d",
		`.metadata['labels']['a\.b/c']`:                 "d",
		".status.long":                                  strings.Repeat("ä", 512) + "…",
	} {
		made, ok := printedColumn(&apiextensionsv1.CustomResourceColumnDefinition{Name: "x", JSONPath: path})
		require.True(t, ok, path)
		require.Equal(t, want, made.cell(object), path)
	}
	for _, path := range []string{
		"..a", ".status..a", strings.Repeat("..a", 6), ".status.list[0,0,0]", ".status['phase','phase']", ".status.phase}{.status.phase", "status", "", "{.a}",
		".a}{range .status.list[*]}{@}{end", ".status.list[?(@..a)]", "." + strings.Repeat("a", 2000), ".status.list[",
	} {
		_, ok := printedColumn(&apiextensionsv1.CustomResourceColumnDefinition{Name: "x", JSONPath: path})
		require.False(t, ok, path)
	}
}

// Of the columns of a definition the first are shown, however many there are.
func TestColumnsOfADefinitionAreBounded(t *testing.T) {
	for columns, shown := range map[int]int{3: 3, 16_000: mostColumns} {
		all := make([]any, columns)
		for i := range all {
			all[i] = map[string]any{"name": fmt.Sprint("c", i), "type": "string", "jsonPath": ".spec.a"}
		}
		u := definedAs(t, "wide", 1, 3, 1).Object
		versions, _, err := unstructured.NestedSlice(u.Object, "spec", "versions")
		require.NoError(t, err)
		versions[0].(map[string]any)["additionalPrinterColumns"] = all
		require.NoError(t, unstructured.SetNestedSlice(u.Object, versions, "spec", "versions"))
		k, err := defined(u)
		require.NoError(t, err)
		require.Len(t, k.columns(), shown)
		require.Equal(t, "c2", k.columns()[2].name)
	}
}

// The cells of a row are bounded together: a definition may show one field in each of its columns.
func TestRowsOfATableAreBounded(t *testing.T) {
	k := &kind{definition: &definition{}}
	for i := range mostColumns {
		k.definition.columns = append(k.definition.columns, column{name: fmt.Sprint("c", i), cell: func(o map[string]any) any { return shortened(o["a"].(string), mostCell) }})
	}
	row := func(text string) (cells []any, bytes int) {
		cells = tables{k, elsewhen.Now}.cells(&unstructured.Unstructured{Object: map[string]any{"a": text}})
		for _, cell := range cells {
			bytes += len(cell.(string))
		}
		return cells, bytes
	}
	cells, _ := row("short")
	require.Equal(t, "short", cells[mostColumns], "all is shown of what is short")
	cells, bytes := row(strings.Repeat("ä", 1000))
	require.Len(t, cells, mostColumns+2)
	require.LessOrEqual(t, bytes, mostRow+(mostColumns+2)*len("…"))
	require.Equal(t, "…", cells[mostColumns])
}
