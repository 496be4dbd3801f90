package bounds

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"flotilla/hub/front/turns"
	"flotilla/tests/limits"
)

// An alias is refused wherever a reader of YAML takes one for that. What only looks like one in a text is let through, but for words that
// name each other.
func TestYAMLWhosePartsStandForOthersIsRefused(t *testing.T) {
	t.Parallel()
	for text, refused := range map[string]bool{
		"a: &a x\nb: *a\n": true, "{a: &a x,b: *a}": true, "[&a x,*a]": true, "a: &a-b_9 x\nb: *a-b_9": true, "- &a x\n- *a": true, "a: &a {x: y}\nb: {<<: *a}": true,
		"a: &a [*a]": true, "&a a: *a": true, "? &a x\n: *a": true, "[&a x,?*a : b]": true, "{\"a\":&a x,\"b\":*a}": true, "a: !!str &a x\nb: *a": true, "a: &a !!str x\nb: *a": true,
		"\ufeff- &a x\n- *a": true, "a: &a\n  x\nb:\t*a": true, "a: &a x\u2028b: *a\u2028": true, "a: &a x\r\nb: *a\r\n": true, "# &a\na: &a x\n# *a\nb: *a": true, "a: '&b'\nb: &a x\nc: *a": true,
		"text: |\n  &a *a": true,
		"a: &a x":          false, "a: &a x\nb: *b": false, "cron: \"*/5 * * * *\"": false, "a: |\n  **bold** & *italic*\n  * item &amp; &lt;\n  x && y\n": false, "a: f(&b) + *c, b&c, b*c": false,
		"url: http://a/?b=1&c=2\nd: '*c'": false,
	} {
		_, err := Count([]byte(text), schema.GroupVersionKind{})
		require.Equal(t, refused, apierrors.IsBadRequest(err), "%q: %v", text, err)
		if err != nil {
			require.ErrorContains(t, err, "expected none: write the value in both places, or send it as JSON")
		}
	}
	_, err := Count([]byte(`{"a":"&a *a"}`), schema.GroupVersionKind{})
	require.NoError(t, err, "JSON has none")
	name := strings.Repeat("a", 3000)
	_, err = Count([]byte("a: &"+name+" x\nb: *"+name), schema.GroupVersionKind{})
	require.Less(t, len(err.Error()), 300)
	wide := func(text string) (out string) {
		for _, r := range text {
			out += string([]byte{byte(r), 0})
		}
		return "\xff\xfe" + out
	}
	_, err = Count([]byte(wide("a: &a x\nb: *a\n")), schema.GroupVersionKind{})
	require.ErrorContains(t, err, "found YAML that is not in UTF-8")
	_, err = Count([]byte("["+strings.Repeat("&a ,", 60_000)+"]"), schema.GroupVersionKind{})
	require.True(t, apierrors.IsRequestEntityTooLargeError(err), "%v", err)
}

// YAML nests no deeper than JSON, once there is room for what it becomes.
func TestYAMLThatNestsDeeply(t *testing.T) {
	t.Parallel()
	flow := func(deep int) string { return strings.Repeat("{a: ", deep) + "1" + strings.Repeat("}", deep) }
	block := func(deep int) string {
		text := ""
		for i := range deep - 1 {
			text += strings.Repeat(" ", i) + "a:\n"
		}
		return text + strings.Repeat(" ", deep) + "a: 1\n"
	}
	lists := func(deep int) string { return strings.Repeat("- ", deep) + "1" }
	for deep, fits := range map[int]bool{mostDepth: true, mostDepth + 1: false, 5_000: false} {
		for what, text := range map[string]string{"flow": flow(deep), "block": block(min(deep, 300)), "lists": lists(deep), "hidden": `{"}}": ` + flow(deep-1) + "}"} {
			_, err := Sized(request(t, turns.NewAll(), "application/yaml", text), MostBody, schema.GroupVersionKind{}, true)
			require.Equal(t, !fits, apierrors.IsRequestEntityTooLargeError(err), "%s %d: %v", what, deep, err)
			if fits {
				require.NoError(t, err)
			}
		}
	}
	texts := "a: |\n" + strings.Repeat("  [[[[{{{{\n", 100)
	_, err := Sized(request(t, turns.NewAll(), "application/yaml", texts), MostBody, schema.GroupVersionKind{}, true)
	require.NoError(t, err, "what of it is text nests nothing")
}

// What is let through becomes no more than goes by its length.
func FuzzYAML(f *testing.F) {
	for _, seed := range []string{
		"a: &a xxxxxxxx\nb: &b [*a,*a,*a,*a]\nc: [*b,*b,*b,*b]", "[&a x,?*a : b]", "{\"a\":&a x,\"b\":*a}", "- &a x\n- *a", "a: &a x\u0085b: *a", "--- &a [*a]", "a: &a {x: y}\nb: {<<: *a}",
		"%TAG ! a\n---\n&a x: *a", "a: |2\n  &a\nb: *a", "a: !<*a> &a b", "\"a\"*a", "? - &a x\n  - *a",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		limits.Hold(t, len(text), func() {
			if counts, err := Count(text, schema.GroupVersionKind{}); err == nil && counts.Rough {
				read, _ := yaml.YAMLToJSON(text)
				require.LessOrEqual(t, len(read), 64+16*len(text))
			}
		})
	})
}
