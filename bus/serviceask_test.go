package bus

import (
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
)

// A verb that gives something to whoever asks changes something, though viewers may ask it.
func TestWhatMayBeAskedAgain(t *testing.T) {
	for _, verb := range []string{api.VerbGet, api.VerbWatch, api.VerbSession} {
		require.True(t, repeatable(verb), verb)
	}
	for _, verb := range []string{api.VerbWeb, api.VerbToken, api.VerbApply, api.VerbEnter, api.VerbLeave} {
		require.False(t, repeatable(verb), verb)
	}
}
