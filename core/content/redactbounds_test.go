package content_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/content"
	"flotilla/core/envelope"
	"flotilla/tests/limits"
)

// wrappingAll is an envelope of before there were kinds for them, with texts.
func wrappingAll(texts map[string]string) string {
	data, _ := json.Marshal(texts)
	return `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"e","annotations":{"kubernetes-fleet.io/envelope-configmap":"true"}},"data":` + string(data) + `}`
}

// nested is a text that holds an envelope of fifty times the same text, which does so too.
func nested(deep int) string {
	if deep == 0 {
		return "a: b"
	}
	inner, _ := json.Marshal(nested(deep - 1))
	text := `{apiVersion: v1, kind: ConfigMap, metadata: {annotations: {kubernetes-fleet.io/envelope-configmap: "true"}}, data: {k: &k ` + string(inner)
	for i := range envelope.MaxItems - 1 {
		text += fmt.Sprintf(", k%d: *k", i)
	}
	return text + "}}"
}

// Texts of an envelope are looked at within the bounds of one, whatever they hold; what is not opened may hold a Secret.
func TestTextsAreLookedAtWithinTheBoundsOfAnEnvelope(t *testing.T) {
	const spelled = "stringData: {a: hunter2}\nkind: \"S\\u0065cret\"\napiVersion: v1\n"
	many := map[string]string{"secret": spelled}
	for len(many) < envelope.MaxItems {
		many[fmt.Sprint("k", len(many))] = "a: b"
	}
	require.Equal(t, []string{"data.secret"}, content.PlainValues(tree(t, wrappingAll(many))))
	many["more"] = "kind: Secret"
	require.Equal(t, []string{"data.more"}, content.PlainValues(tree(t, wrappingAll(many))), "what holds so many is no envelope to anybody, and its texts are not opened")

	large := map[string]string{}
	for i := range 20 {
		large[fmt.Sprintf("k%02d", i)] = "a: &a " + strings.Repeat("x", 10_000) + "\nb: [*a,*a,*a,*a,*a,*a]\n"
	}
	require.Equal(t, []string{"data.k13", "data.k14", "data.k15", "data.k16", "data.k17", "data.k18", "data.k19"}, content.PlainValues(tree(t, wrappingAll(large))), "all together")

	require.Equal(t, []string{"data.s.yaml"}, content.PlainValues(tree(t, wrapping(nested(1)))), "an envelope in another is not opened")
	require.Empty(t, content.PlainValues(tree(t, wrapping(nested(0)))))
	deep := tree(t, wrapping(nested(3)))
	limits.Hold(t, 64<<10, func() { content.PlainValues(deep) })
}
