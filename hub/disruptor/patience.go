package disruptor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"flotilla/core/api"
)

const (
	// DefaultPatience is how long a request waits for the decisions that are being made about its members.
	DefaultPatience = 5 * time.Second
	// DefaultThought is how long the hub works out what somebody asks about one member.
	DefaultThought = 20 * time.Second
)

// turn is a lock that can be waited for with an end; who comes first has it first.
type turn chan struct{}

func newTurn() turn { return make(turn, 1) }

// take waits until nobody else has the turn, or ctx ends. A turn that is free is taken in any case.
func (t turn) take(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	default:
	}
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t turn) give() { <-t }

// patience is the key of the context that bounds how long a request waits for turns.
type patience struct{}

// patient lets a request wait for turns for so long in all, however many it needs.
func (d *Disruptor) patient(ctx context.Context) (context.Context, context.CancelFunc) {
	waiting, over := context.WithTimeout(ctx, d.options.Patience)
	return context.WithValue(ctx, patience{}, waiting), over
}

// take waits for a turn as long as a request may; what has no patience of its own waits until its context ends.
func take(ctx context.Context, t turn) error {
	waiting, bounded := ctx.Value(patience{}).(context.Context)
	if !bounded {
		waiting = ctx
	}
	if err := t.take(waiting); err != nil && ctx.Err() != nil {
		return ctx.Err()
	} else if err != nil {
		return errBusy
	}
	return nil
}

// errBusy says that a turn did not come in time.
var errBusy = errors.New("a decision is being made")

// decide waits for the turn to look at a member and decide about it, which is given back with give.
func (m *memberState) decide(ctx context.Context) error {
	err := take(ctx, m.deciding)
	if !errors.Is(err, errBusy) {
		return err
	}
	return fmt.Errorf("%w: %w", err, &api.Failure{
		Code: api.CodeUnavailable, Message: fmt.Sprintf("member %s is being decided about, which takes long: ask again", m.name),
		Next: "flotilla get disruptions -m " + m.name,
	})
}

// isBusy tells a member that is being decided about for longer than a request waits.
func isBusy(err error) bool { return errors.Is(err, errBusy) }

// skipped says that a list goes on without a member that errs so, and what is to be noted of that.
func skipped(member string, err error) (notes []string, goesOn bool) {
	if isBusy(err) {
		return []string{fmt.Sprintf("member %s: left out: it is being decided about, which takes long", member)}, true
	}
	return nil, isGone(err)
}

// thinking bounds what is worked out for somebody who asks.
func (d *Disruptor) thinking(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, d.options.Thought)
}

// thought is what somebody is answered whose question took longer than thinking lets it, nil when it did not; asked is the
// context of the request.
func (d *Disruptor) thought(asked, thinking context.Context, member string) error {
	switch {
	case thinking.Err() == nil:
		return nil
	case asked.Err() != nil:
		return asked.Err()
	}
	return &api.Failure{
		Code: api.CodeLimit, Message: fmt.Sprintf("what was asked about member %s takes longer than %s to work out, and was given up", member, d.options.Thought),
		Next: "flotilla get nodes -m " + member,
	}
}

// ended tells a decision when nobody wants it any more.
func ended(ctx context.Context) func() bool { return func() bool { return ctx.Err() != nil } }
