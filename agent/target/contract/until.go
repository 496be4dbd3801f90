package contract

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// patience is how long a member may take to do what it is to do by itself.
const patience = time.Minute

// until waits for a condition.
func until(t *testing.T, condition func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ticks := time.NewTicker(20 * time.Millisecond)
	defer ticks.Stop()
	for {
		err := condition()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			require.NoError(t, err, "not within %s", patience)
		case <-ticks.C:
		}
	}
}
