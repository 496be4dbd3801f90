package cli

import (
	"context"
	"errors"
	"time"
)

// pollInterval is how often commands that wait look again.
const pollInterval = 500 * time.Millisecond

// pause waits and says whether to go on: false once the command was interrupted or timed out.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// stoppedOr is nil when err is only the echo of an interrupted command.
func stoppedOr(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// isInterrupted tells a wait that a person ended from one whose time was up.
func isInterrupted(ctx context.Context) bool { return errors.Is(ctx.Err(), context.Canceled) }

// withTimeout bounds a wait; zero or less is no bound.
func withTimeout(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	if timeout <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, timeout)
}
