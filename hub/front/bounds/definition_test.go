package bounds

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What a definition takes is counted whatever takes it: fields however they nest, values, or text.
func TestPartsOfADefinition(t *testing.T) {
	t.Parallel()
	none := Parts(map[string]any{})
	require.Greater(t, none, 100, "one without fields is served too")
	wide, list := map[string]any{}, []any{}
	var deep any = "end"
	for i := range 1000 {
		wide[fmt.Sprint(i)] = map[string]any{}
		list = append(list, int64(i))
		deep = map[string]any{"a": []any{deep}}
	}
	for what, c := range map[string]struct {
		value any
		least int
	}{
		"fields":       {wide, 1000},
		"deep fields":  {deep, 1000},
		"values":       {list, 1000 / 8},
		"a text":       {strings.Repeat("x", 512<<10), 1000},
		"a long name":  {map[string]any{strings.Repeat("x", 512<<10): nil}, 1000},
		"large fields": {map[string]any{"items": []any{wide, wide}}, 2000},
	} {
		found := Parts(map[string]any{"spec": c.value}) - none
		require.GreaterOrEqual(t, found, c.least, what)
		require.Less(t, found, 2*c.least, what)
	}
}
