package bus

import (
	"context"
	"errors"
	"time"
)

const (
	// firstAsk is for how long an answer is waited for at first. A stream that has no leader yet drops what it is asked,
	// so that whoever waits for longer waits in vain.
	firstAsk = time.Second
	// waitedFor is the longest time between two tries of something that others wait for.
	waitedFor = time.Second
)

// patience is for how long an answer is waited for: longer after each one that did not come, for servers that are slow.
type patience struct{ now time.Duration }

func newPatience() patience { return patience{firstAsk} }

// within is ctx for one try.
func (p *patience) within(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, p.now)
}

// learn takes in how a try ended.
func (p *patience) learn(err error) {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		p.now = min(2*p.now, askTimeout)
	case err == nil:
		p.now = max(p.now/2, firstAsk)
	}
}
