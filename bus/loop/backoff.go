package loop

import (
	"cmp"
	"context"
	"math/rand/v2"
	"time"
)

// firstWait is that of a Backoff that names none, and of a Queue.
const firstWait = 50 * time.Millisecond

// Backoff are the waits between tries of one thing: First, 50 ms when 0, then each twice the one before, Most at the
// longest. Its methods are for one goroutine.
type Backoff struct {
	First, Most time.Duration
	last        time.Duration
}

// Next is how long to wait before the next try.
func (b *Backoff) Next() time.Duration {
	b.last = min(max(2*b.last, cmp.Or(b.First, firstWait)), b.Most)
	return b.last
}

// Reset begins anew with First: a try went well, or something changed.
func (b *Backoff) Reset() { b.last = 0 }

// Wait waits for Next, or for ctx, and says whether to try again: false when ctx ended.
func (b *Backoff) Wait(ctx context.Context) bool { return Pause(ctx, b.Next()) }

// Spread takes up to half off a wait, so that those who wait for the same do not come back at once.
func Spread(wait time.Duration) time.Duration { return wait/2 + rand.N(max(wait/2, 1)) }

// Pause waits for d, or for ctx, and says which: false when ctx ended.
func Pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// Sooner is the earlier of two times to look again; the zero time is never.
func Sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
