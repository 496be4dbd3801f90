package nodes

import (
	"context"
	"fmt"
	"time"
)

// holdKey is the key of the queue of machines under which others are kept from deciding about nodes.
const holdKey = "hold"

// holdEvery is how often that is seen to, though nothing is known to have changed.
const holdEvery = 15 * time.Second

// hold keeps others from deciding about the nodes, where somebody does, until the member leaves.
func (c *lifecycle) hold(ctx context.Context) (time.Time, error) {
	by, able := c.o.Provider.(Holder)
	if !able {
		return time.Time{}, nil
	}
	if command, commanded := c.ledger.command(); commanded && command.Leaving {
		if !c.ledger.heard() {
			return time.Time{}, nil // the member may have come back since
		}
		return time.Time{}, release(ctx, by)
	}
	if err := c.call(ctx, by.Hold); err != nil {
		return time.Time{}, fmt.Errorf("keeping %s from disrupting nodes by itself: %w", c.o.Provider, err)
	}
	return c.o.Hub.Now().Add(holdEvery), nil
}

func release(ctx context.Context, by Holder) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if err := by.Release(ctx); err != nil {
		return fmt.Errorf("giving back what was taken from those who disrupt nodes: %w", err)
	}
	return nil
}
