package loop

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAMemoAsksAgainWhenItHasTo(t *testing.T) {
	now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	ends, fails, asked := now.Add(time.Hour), error(nil), 0
	m := NewMemo(MemoOptions[time.Time]{
		Ask:  func(context.Context, string) (time.Time, error) { asked++; return ends, fails },
		Ends: func(v time.Time) time.Time { return v }, For: time.Second, Most: 2, Now: func() time.Time { return now },
	})
	of := func(secret string, want int) {
		t.Helper()
		_, err := m.Of(t.Context(), secret)
		require.ErrorIs(t, err, fails)
		require.Equal(t, want, asked)
	}
	of("a", 1)
	of("a", 1)
	now = now.Add(time.Second)
	of("a", 2)
	m.Forget("a")
	of("a", 3)
	ends = now
	of("b", 4)
	of("b", 5) // it has ended
	ends = now.Add(time.Hour)
	of("c", 6) // the third: those before are forgotten
	of("c", 6)
	of("a", 7)
	fails = errors.New("nobody answers")
	now = now.Add(time.Second)
	of("c", 8)
	of("c", 9)
}
