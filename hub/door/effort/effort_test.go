package effort

import (
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
)

// A plan ends with whoever waits for it, and selects no more than a bound; what is no plan has none (H40).
func TestWhatAPlanTakesIsBounded(t *testing.T) {
	over := false
	b := Until(func() bool { return over })
	require.NoError(t, b.GoOn())
	require.NoError(t, b.Selected(mostLooked, mostTaken))
	failure := &api.Failure{}
	require.ErrorAs(t, b.Selected(0, 1), &failure)
	require.Equal(t, api.CodeTooLarge, failure.Code)
	require.Equal(t, "the placements of the plan select more than 200000 objects in all: plan fewer at a time", failure.Message)
	require.ErrorContains(t, Until(nil).Selected(mostLooked+1, 0), "look at objects more than 20000000 times in all")
	over = true
	require.ErrorIs(t, b.GoOn(), ErrEnded)

	var none *Bound
	require.NoError(t, none.GoOn())
	require.NoError(t, none.Selected(2*mostLooked, 2*mostTaken))
}
