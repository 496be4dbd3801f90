package loop_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/bus/loop"
)

func TestBackoff(t *testing.T) {
	b := loop.Backoff{First: time.Second, Most: 5 * time.Second}
	var waits []time.Duration
	for range 5 {
		waits = append(waits, b.Next())
	}
	require.Equal(t, []time.Duration{1e9, 2e9, 4e9, 5e9, 5e9}, waits)
	b.Reset()
	require.Equal(t, time.Second, b.Next())
}

func TestSooner(t *testing.T) {
	early, late := time.Unix(1, 0), time.Unix(2, 0)
	require.Equal(t, early, loop.Sooner(late, early))
	require.Equal(t, early, loop.Sooner(early, late))
	require.Equal(t, late, loop.Sooner(time.Time{}, late))
	require.Equal(t, late, loop.Sooner(late, time.Time{}))
}
