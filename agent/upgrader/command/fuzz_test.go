package command

import (
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/tests/limits"
)

// FuzzOutput reads lines as commands of other people print them.
func FuzzOutput(f *testing.F) {
	f.Add([]byte(`{"percent": 1e999, "message": "x"}`))
	f.Add([]byte(`{"percent": -5}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		limits.Hold(t, len(line), func() {
			var o output
			o.hear(line)
			latest, _ := o.news()
			require.GreaterOrEqual(t, latest.Percent, 0)
			require.LessOrEqual(t, latest.Percent, 100)
		})
	})
}
