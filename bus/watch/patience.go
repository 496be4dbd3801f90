package watch

import (
	"context"
	"errors"
	"time"

	"flotilla/bus"
)

const (
	// firstAsk is for how long an answer is waited for at first. A stream that has no leader yet drops what it is asked,
	// so that whoever waits for longer waits in vain.
	firstAsk = time.Second
	// WaitedFor is the longest time between two tries of something that others wait for.
	WaitedFor = time.Second
)

// Patience is for how long an answer is waited for: longer after each one that did not come, for servers that are slow.
type Patience struct{ Now time.Duration }

// NewPatience waits a second at first.
func NewPatience() Patience { return Patience{firstAsk} }

// Within is ctx for one try.
func (p *Patience) Within(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, p.Now)
}

// Learn takes in how a try ended.
func (p *Patience) Learn(err error) {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		p.Now = min(2*p.Now, bus.AskTimeout)
	case err == nil:
		p.Now = max(p.Now/2, firstAsk)
	}
}
