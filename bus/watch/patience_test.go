package watch_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"flotilla/bus/watch"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"
)

// A server that is slow is waited for longer each time, up to what it may take; one that answers, or refuses, is not.
func TestPatienceGrowsWithSilence(t *testing.T) {
	silent := fmt.Errorf("looking at the stream: %w", context.DeadlineExceeded)
	s := time.Second
	require.Equal(t, []time.Duration{s, 2 * s, 4 * s, 5 * s, 5 * s, 5 * s, 2500 * time.Millisecond, 1250 * time.Millisecond, s, s},
		watch.PatienceAfter(silent, silent, silent, silent, nats.ErrNoResponders, nil, nil, nil, nil))
}
