package overlay

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/tests/limits"
)

// FuzzPatch holds the laws of merge patches (RFC 7386) on whatever clients send: what was patched twice is as
// patched once, and the overlay of what a patch made never takes from a document that sets it.
func FuzzPatch(f *testing.F) {
	f.Add([]byte(`{"metadata":{"labels":{"a":"1"}}}`), []byte(`{"metadata":{"labels":{"a":null,"b":"2"}},"spec":{"x":[1,{"y":null}]}}`))
	f.Add([]byte(`{}`), []byte(`{"a":{"b":{"c":{"d":null}}}}`))
	f.Add([]byte(`{"a":1e999}`), []byte(`{"a":9223372036854775808}`))
	f.Fuzz(func(t *testing.T, target, patch []byte) {
		var once json.RawMessage
		var err error
		limits.Hold(t, 8*(len(target)+len(patch)), func() {
			once, err = Patch(target, patch)
			_, _ = Extend(target, patch)
		})
		if err != nil {
			return
		}
		twice, err := Patch(once, patch)
		require.NoError(t, err)
		require.JSONEq(t, string(once), string(twice))
		var document, overlay map[string]any
		require.NoError(t, json.Unmarshal(once, &document))
		if json.Unmarshal(patch, &overlay) == nil {
			_, err = json.Marshal(merge(document, unset(overlay, document)))
			require.NoError(t, err)
		}
	})
}
