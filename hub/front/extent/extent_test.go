package extent

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// What an object is in lines, and in YAML, is never more than what is said of it before, and not much less for what people write (H49).
func TestAnObjectIsNoMoreThanItsExtent(t *testing.T) {
	t.Parallel()
	deep := func(levels int, inner string) string {
		return strings.Repeat("[", levels) + inner + strings.Repeat("]", levels)
	}
	for what, text := range map[string]string{
		"values":          `[` + strings.Repeat("1,", 999) + `1]`,
		"deep values":     deep(90, strings.Repeat("1,", 999)+"1"),
		"maps":            `[` + strings.Repeat(`{"a":1,"b":{}},`, 500) + `1]`,
		"empty":           `[` + strings.Repeat(`{},[],`, 500) + `1]`,
		"text":            `{"a":"` + strings.Repeat("x", 10_000) + `"}`,
		"words":           `{"a":"` + strings.Repeat("some words ", 1000) + `"}`,
		"deep words":      deep(60, `{"a":"`+strings.Repeat("x y ", 1000)+`"}`),
		"lines":           `{"a":"` + strings.Repeat(`some\nlines\n`, 1000) + `"}`,
		"deep lines":      deep(30, `{"a":"`+strings.Repeat(`x\ny\n`, 1000)+`"}`),
		"escaped signs":   `{"a":"` + strings.Repeat("<>&", 1000) + `"}`,
		"quotes":          `{"a":"` + strings.Repeat(`\"\\`, 1000) + `"}`,
		"what people do":  `{"items":[` + strings.Repeat(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"abc","labels":{"app":"shop"}},"data":{"a.conf":"listen 80;\nroot /var/www;\n"}},`, 50) + `{}]}`,
		"commas in texts": `{"a":"` + strings.Repeat(`,{[`, 1000) + `"}`,
	} {
		found := Of([]byte(text))
		require.Equal(t, int64(len(text)), found.Text)
		var laid bytes.Buffer
		var o any
		require.NoError(t, json.Unmarshal([]byte(text), &o))
		in := json.NewEncoder(&laid)
		in.SetIndent("", "  ")
		require.NoError(t, in.Encode(o))
		inYAML, err := yaml.JSONToYAML([]byte(text))
		require.NoError(t, err)
		require.GreaterOrEqual(t, found.Laid+1, int64(laid.Len()), "%s in lines", what)
		require.GreaterOrEqual(t, found.Laid+1, int64(len(inYAML)), "%s in YAML", what)
		require.LessOrEqual(t, found.Laid, int64(3*max(laid.Len(), len(inYAML))), what)
	}
}

// Values and maps are counted, texts are not taken for any, and extents are added.
func TestValuesAndMapsAreCounted(t *testing.T) {
	t.Parallel()
	found := Of([]byte(`{"a":"{[,\"","b":[1,{"c":2},3]}`))
	require.Equal(t, int64(2), found.Maps)
	require.Equal(t, int64(6), found.Values)
	other := Extent{Text: 1, Laid: 2, Values: 300, Maps: 4}
	require.Equal(t, Extent{found.Text + 1, found.Laid + 2, 306, 6}, found.Plus(other))
	require.Equal(t, Extent{found.Text, found.Laid, 300, 4}, found.Or(other))
}
