package session

import (
	"context"
	"errors"
	"time"
)

// PollInterval is how often commands that wait look again.
const PollInterval = 500 * time.Millisecond

// Pause waits and says whether to go on: false once the command was interrupted or timed out.
func Pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// StoppedOr is nil when err is only the echo of an interrupted command.
func StoppedOr(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// IsInterrupted tells a wait that a person ended from one whose time was up.
func IsInterrupted(ctx context.Context) bool { return errors.Is(ctx.Err(), context.Canceled) }

// WithTimeout bounds a wait; zero or less is no bound.
func WithTimeout(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	if timeout <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, timeout)
}
