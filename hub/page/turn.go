package page

import (
	"context"
	"sync/atomic"

	"flotilla/core/api"
)

// mostWaiting bounds who waits for one thing to be read or drawn: all streams, and some who load a page.
const mostWaiting = mostStreams + 256

// turn is had by one at a time. Whoever waits for it goes as soon as nobody waits for them.
type turn struct {
	had     chan struct{}
	waiting atomic.Int32
}

func newTurn() *turn { return &turn{had: make(chan struct{}, 1)} }

// take waits until nobody else has it; what it returns gives it back.
func (t *turn) take(ctx context.Context) (give func(), err error) {
	defer t.waiting.Add(-1)
	if t.waiting.Add(1) > mostWaiting {
		return nil, &api.Failure{Code: api.CodeUnavailable, Message: "too many wait for this already: load it again in a while"}
	}
	select {
	case t.had <- struct{}{}:
		return func() { <-t.had }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
