package loop

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

func TestATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turn := NewTurn()
		require.NoError(t, turn.Take(t.Context()))
		impatient, leave := context.WithCancel(t.Context())
		var order []string
		wait := func(ctx context.Context, who string) {
			go func() {
				if err := turn.Take(ctx); err != nil {
					order = append(order, who+": "+err.Error())
					return
				}
				order = append(order, who)
				turn.Leave()
			}()
			synctest.Wait()
		}
		wait(t.Context(), "anna")
		wait(impatient, "eve")
		wait(t.Context(), "zoe")
		leave()
		synctest.Wait()
		turn.Leave()
		synctest.Wait()
		require.Equal(t, []string{"eve: context canceled", "anna", "zoe"}, order)
		require.NoError(t, turn.Take(t.Context()), "nobody holds it")
	})
}
