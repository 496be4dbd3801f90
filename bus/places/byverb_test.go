package places

import (
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
)

// Verbs that are apart find places while all others are taken, and the other way round.
func TestVerbsThatAreApartHavePlacesOfTheirOwn(t *testing.T) {
	sorts := [][]string{
		{api.VerbApply, api.VerbGet, api.VerbWeb, "none"},
		{api.VerbFreeze, api.VerbUnfreeze, api.VerbUserRevoke, api.VerbMemberRevoke},
		{api.VerbKey, api.VerbSession},
	}
	b := NewByVerb(1, 1)
	for _, verbs := range sorts {
		_, err := b.Join(verbs[0], "eve")
		require.NoError(t, err, verbs[0])
		_, err = b.Enter(t.Context(), verbs[0], "eve")
		require.NoError(t, err, verbs[0])
		for range mostForwards {
			_, ok := b.Forward(verbs[0])
			require.True(t, ok, verbs[0])
		}
		for _, verb := range verbs {
			_, err := b.Join(verb, "anna")
			require.ErrorContains(t, err, "the hub has too much to do", verb)
			_, ok := b.Forward(verb)
			require.False(t, ok, verb)
			require.Len(t, b[apart[verb]].all, 1, verb)
		}
	}
}
