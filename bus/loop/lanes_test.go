package loop

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// Of one name a few work at once, and a bounded number waits; others wait for none of them (H39).
func TestLanesHoldNobodyElseUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Lanes{Wide: 2, Most: 10}
		var leaves []func()
		for range l.Wide {
			leave, err := l.Take(t.Context(), "eve")
			require.NoError(t, err)
			leaves = append(leaves, leave)
		}
		ctx, gone := context.WithCancel(t.Context())
		waits := make(chan error, l.Most)
		wait := func() {
			leave, err := l.Take(ctx, "eve")
			if err == nil {
				leave()
			}
			waits <- err
		}
		for range l.Most - l.Wide {
			go wait()
		}
		synctest.Wait()
		require.Empty(t, waits)
		_, err := l.Take(t.Context(), "eve")
		require.ErrorIs(t, err, ErrCrowded)
		_, free := l.Try("eve")
		require.False(t, free)
		leave, err := l.Take(t.Context(), "anna")
		require.NoError(t, err)
		second, free := l.Try("anna")
		require.True(t, free)
		_, free = l.Try("anna")
		require.False(t, free, "two work")
		leave()
		second()

		leaves[0]()
		for range l.Most - l.Wide {
			require.NoError(t, <-waits, "one after the other")
		}
		leave, err = l.Take(t.Context(), "eve")
		require.NoError(t, err)
		go wait()
		synctest.Wait()
		gone()
		require.ErrorIs(t, <-waits, context.Canceled)
		leave()
		leaves[1]()
		require.Empty(t, l.of)
	})
}
