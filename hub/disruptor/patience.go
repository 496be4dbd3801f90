package disruptor

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"flotilla/bus/loop"
	"flotilla/core/api"
)

const (
	// DefaultPatience is how long a request waits for the decisions that are being made about its members. Twice that and
	// DefaultThought are less than the ten seconds after which a client asks again.
	DefaultPatience = 2 * time.Second
	// DefaultThought is how long the hub works out what somebody asks about one member.
	DefaultThought = 5 * time.Second
	// leastPatience is how long is waited for a turn by who has waited enough for others: one that nobody holds is had within it.
	leastPatience = time.Millisecond
)

// patience is for how much longer a request waits for turns, however many it needs: what it does once it has one does
// not count.
type patience struct {
	now  func() time.Time
	left atomic.Int64
}

// patienceKey is where the context of a request has its patience.
type patienceKey struct{}

// patient lets a request wait for turns for so long in all.
func (d *Disruptor) patient(ctx context.Context) context.Context {
	p := &patience{now: d.store.Now}
	p.left.Store(int64(d.options.Patience))
	return context.WithValue(ctx, patienceKey{}, p)
}

// take waits for a turn as long as a request may; what has no patience of its own waits until its context ends.
func take(ctx context.Context, t loop.Turn) error {
	p, bounded := ctx.Value(patienceKey{}).(*patience)
	if !bounded {
		return t.Take(ctx)
	}
	waiting, over := context.WithTimeout(ctx, max(time.Duration(p.left.Load()), leastPatience))
	defer over()
	began := p.now()
	err := t.Take(waiting)
	p.left.Add(int64(began.Sub(p.now())))
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	default:
		return errBusy
	}
}

// errBusy says that a turn did not come in time.
var errBusy = errors.New("a decision is being made")

// decide waits for the turn to look at a member and decide about it, which is left with Leave. Clients ask again by
// themselves after CodeUnavailable, and would have as little of it for long.
func (m *memberState) decide(ctx context.Context) error {
	err := take(ctx, m.deciding)
	if !errors.Is(err, errBusy) {
		return err
	}
	return fmt.Errorf("%w: %w", err, &api.Failure{
		Code: api.CodeLimit, Message: fmt.Sprintf("member %s is being decided about, which takes long: ask again", m.name),
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
	return fmt.Errorf("%w: %w", errThought, &api.Failure{
		Code: api.CodeLimit, Message: fmt.Sprintf("what was asked about member %s takes longer than %s to work out, and was given up", member, d.options.Thought),
		Next: "flotilla get nodes -m " + member,
	})
}

// errThought says that what somebody asked was given up.
var errThought = errors.New("it takes too long to work out")

// ended tells a decision when nobody wants it any more.
func ended(ctx context.Context) func() bool { return func() bool { return ctx.Err() != nil } }
