package loop

import "time"

// Backoff is how long to wait after failures in a row: First, then twice as long each time, up to Most.
type Backoff struct {
	First, Most time.Duration
	wait        time.Duration
}

// Next is how long to wait after one more failure.
func (b *Backoff) Next() time.Duration {
	b.wait = min(max(b.First, 2*b.wait), b.Most)
	return b.wait
}

// Reset forgets the failures.
func (b *Backoff) Reset() { b.wait = 0 }

// Sooner is the earlier of two times to look again; the zero time is never.
func Sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
