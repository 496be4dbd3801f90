package planner

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
)

// A preview holds so many bytes of objects, as they are selected and as overrides change them, and ends with whoever asked.
func TestWhatAPreviewHoldsIsBounded(t *testing.T) {
	s := &showing{}
	ctx, leave := context.WithCancel(t.Context())
	require.NoError(t, s.took(ctx, maxShown-1))
	require.NoError(t, s.took(ctx, 1))
	failure := &api.Failure{}
	require.ErrorAs(t, s.took(ctx, 1), &failure)
	require.Equal(t, api.CodeTooLarge, failure.Code)
	require.Contains(t, failure.Message, "more than 12 MiB of objects, as selected and as overrides change them")
	leave()
	require.ErrorIs(t, (&showing{}).took(ctx, 0), context.Canceled)
}

// A plan that takes too long is given up, and says so; one that nobody waits for ends with them (H40).
func TestPlansAreGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		endless := func(ctx context.Context) (*int, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		_, err := planning(t.Context(), endless)
		failure := &api.Failure{}
		require.ErrorAs(t, err, &failure)
		require.Equal(t, api.CodeLimit, failure.Code)
		require.Contains(t, failure.Message, "the plan takes longer than 20s to work out")

		ctx, leave := context.WithCancel(t.Context())
		leave()
		_, err = planning(ctx, endless)
		require.ErrorIs(t, err, context.Canceled)

		wrong := errors.New("wrong")
		_, err = planning(t.Context(), func(context.Context) (*int, error) { return nil, wrong })
		require.ErrorIs(t, err, wrong)
		answer, err := planning(t.Context(), func(context.Context) (*int, error) { return new(7), nil })
		require.NoError(t, err)
		require.Equal(t, 7, *answer.(*int))
	})
}
