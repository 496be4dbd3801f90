package page

import (
	"context"
	"sync/atomic"

	"flotilla/bus/loop"
	"flotilla/core/api"
)

// mostWaiting bounds who waits for one thing to be read or drawn: all streams, and some who load a page.
const mostWaiting = mostStreams + 256

// turn is had by one at a time. Whoever waits for it goes as soon as nobody waits for them.
type turn struct {
	of      loop.Turn
	waiting atomic.Int32
}

func newTurn() *turn { return &turn{of: loop.NewTurn()} }

// take waits until nobody else has it; what it returns gives it back.
func (t *turn) take(ctx context.Context) (give func(), err error) {
	defer t.waiting.Add(-1)
	if t.waiting.Add(1) > mostWaiting {
		return nil, &api.Failure{Code: api.CodeUnavailable, Message: "too many wait for this already: load it again in a while"}
	}
	if t.of.Take(ctx) != nil {
		return nil, context.Cause(ctx)
	}
	return t.of.Leave, nil
}
