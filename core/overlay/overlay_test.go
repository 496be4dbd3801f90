package overlay

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// A document keeps what single changes made of its object where it sets nothing itself.
func TestKeep(t *testing.T) {
	for _, c := range []struct{ document, overlay, merged, note string }{
		{`{"a":1}`, ``, `{"a":1}`, ""},
		{`{"a":1}`, `{"a":2}`, `{"a":1}`, ""},
		{`{"a":1}`, `{"b":2}`, `{"a":1,"b":2}`, "b"},
		{`{"m":{"labels":{"a":"1"}}}`, `{"m":{"labels":{"a":"2","b":"3"},"x":{}},"s":{"t":[1]}}`, `{"m":{"labels":{"a":"1","b":"3"},"x":{}},"s":{"t":[1]}}`, "m.labels.b, s.t"},
		{`{"m":{"labels":{"a":"1"}}}`, `{"m":{"labels":{"a":"2"}}}`, `{"m":{"labels":{"a":"1"}}}`, ""},
		{`{"m":"text"}`, `{"m":{"a":1}}`, `{"m":"text"}`, ""},
		{`no json`, `{"a":1}`, `no json`, ""},
		{`{"a":1}`, `no json`, `{"a":1}`, ""},
	} {
		merged, left := Keep(json.RawMessage(c.document), json.RawMessage(c.overlay))
		require.Equal(t, c.merged, string(merged), "%s + %s", c.document, c.overlay)
		if c.note == "" {
			require.Empty(t, left)
			continue
		}
		require.Equal(t, "kept, because the document does not set it: "+c.note, Note(left))
	}
}

// What a patch removes is no part of an overlay, and neither is what names the object of a document.
func TestExtendAndWhole(t *testing.T) {
	extended, err := Extend(json.RawMessage(`{"a":{"b":1},"c":2}`), json.RawMessage(`{"a":{"b":null},"d":{"e":3}}`))
	require.NoError(t, err)
	require.Equal(t, map[string]any{"c": int64(2), "d": map[string]any{"e": int64(3)}}, extended)
	whole, err := Whole(json.RawMessage(`{"apiVersion":"v1","kind":"K","metadata":{"name":"n","labels":{"a":"1"}},"spec":{}}`))
	require.NoError(t, err)
	require.Equal(t, map[string]any{"metadata": map[string]any{"labels": map[string]any{"a": "1"}}}, whole)
}
