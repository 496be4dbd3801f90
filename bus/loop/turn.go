package loop

import "context"

// Turn is held by one goroutine at a time. Those who wait get it in the order in which they came, and leave when their
// context ends. Its methods may be called from any goroutine.
type Turn struct{ held chan struct{} }

// NewTurn returns a turn that nobody holds.
func NewTurn() Turn { return Turn{held: make(chan struct{}, 1)} }

// Take waits for the turn. The error is that of ctx, and then the turn is not held.
func (t Turn) Take(ctx context.Context) error {
	select {
	case t.held <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Leave gives the turn to who waits for longest.
func (t Turn) Leave() { <-t.held }
