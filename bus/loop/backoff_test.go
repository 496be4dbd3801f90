package loop

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestBackoff(t *testing.T) {
	retry := Backoff{First: 10 * time.Millisecond, Most: 35 * time.Millisecond}
	var waits []time.Duration
	for range 4 {
		waits = append(waits, retry.Next())
	}
	require.Equal(t, []time.Duration{10 * time.Millisecond, 20 * time.Millisecond, 35 * time.Millisecond, 35 * time.Millisecond}, waits)
	retry.Reset()
	require.Equal(t, 10*time.Millisecond, retry.Next())
}

func TestASpreadWaitIsAtLeastHalfAndNeverMore(t *testing.T) {
	for range 1000 {
		wait := Spread(10)
		require.GreaterOrEqual(t, wait, time.Duration(5))
		require.Less(t, wait, time.Duration(10))
	}
	require.Zero(t, Spread(0))
}

func TestAPauseEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		require.True(t, Pause(ctx, time.Second))
		time.AfterFunc(time.Second, cancel)
		retry := Backoff{First: time.Hour, Most: time.Hour}
		require.False(t, retry.Wait(ctx))
		require.Equal(t, 2*time.Second, time.Since(began))
	})
}

func TestSooner(t *testing.T) {
	early, late := time.Unix(1, 0), time.Unix(2, 0)
	require.Equal(t, early, Sooner(late, early))
	require.Equal(t, early, Sooner(early, late))
	require.Equal(t, late, Sooner(time.Time{}, late))
	require.Equal(t, late, Sooner(late, time.Time{}))
}
