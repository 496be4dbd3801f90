package places

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
)

// Whoever asks too much at once is refused, and nothing is kept of who is refused or has no request any more.
func TestLinesAreForgotten(t *testing.T) {
	p := New(1, presentOfPerson+1)
	var joined []*Line
	for range presentOfPerson {
		l, err := p.Join("eve")
		require.NoError(t, err)
		joined = append(joined, l)
	}
	_, err := p.Join("eve")
	require.ErrorContains(t, err, "eve has 64 requests with the hub already")
	anna, err := p.Join("anna")
	require.NoError(t, err)
	_, err = p.Join("bert")
	failure := &api.Failure{}
	require.ErrorAs(t, err, &failure)
	require.Equal(t, api.CodeUnavailable, failure.Code)
	require.Len(t, p.lines, 2)
	anna.Leave()
	for _, l := range joined {
		l.Leave()
	}
	require.Empty(t, p.lines)
	require.Zero(t, p.present)
}

// What waits for a place goes with its context, and gives back what it has; who leaves twice leaves once.
func TestAPlaceIsGivenBack(t *testing.T) {
	p := New(1, 1)
	leave, err := p.Enter(t.Context(), "anna")
	require.NoError(t, err)
	over, end := context.WithCancel(t.Context())
	end()
	for range 2 * runningOfPerson {
		for _, person := range []string{"", "eve"} {
			_, err := p.Enter(over, person)
			require.ErrorIs(t, err, context.Canceled)
		}
	}
	leave()
	leave()
	for _, person := range []string{"eve", ""} {
		left, err := p.Enter(t.Context(), person)
		require.NoError(t, err)
		left()
	}
	require.Empty(t, p.all)
}
