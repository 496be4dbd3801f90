package records

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
)

// What is taken to fit without a look fits, whatever its names are.
func TestWhatPlainlyFitsFits(t *testing.T) {
	for name, text := range map[string]string{"plain": "abc-1.example/x", "escaped": `<"&>\` + "\x01", "long": strings.Repeat("a", 253)} {
		taken, left := false, false
		for count := 501; count < 20_000; count += 499 {
			s := &api.Snapshot{Placement: "p"}
			for range count {
				s.Manifests = append(s.Manifests, api.Manifest{
					ObjectRef: api.ObjectRef{APIVersion: "v1", Kind: "ConfigMap", Namespace: text, Name: text}, Digest: strings.Repeat("f", 64), Envelope: text,
				})
			}
			if !plainly(s) {
				left = true
				break
			}
			taken = true
			value, err := json.Marshal(s)
			require.NoError(t, err)
			require.Less(t, len(value), 900<<10, name)
		}
		require.True(t, taken, name)
		require.True(t, left, name)
	}
}
