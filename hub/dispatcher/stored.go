package dispatcher

import (
	"context"
	"errors"
	"fmt"

	"flotilla/bus"
	"flotilla/bus/streams"
	"flotilla/core/api"
	"flotilla/subjects"
)

// compare looks for commands that are not stored as they were sent, as after a broker lost its last
// second, and has them looked at.
func (d *Dispatcher) compare(ctx context.Context) error {
	heads, err := d.store.Commands.List(ctx)
	if err != nil {
		return fmt.Errorf("comparing commands: %w", err)
	}
	for _, to := range d.sent.differing(heads) {
		d.sent.doubt(to)
		d.queue.Add(to.key())
	}
	return nil
}

// reread learns what is stored at an address.
func (d *Dispatcher) reread(ctx context.Context, to address) error {
	head, err := d.store.Commands.Head(ctx, to.member, to.kind)
	if errors.Is(err, bus.ErrNotFound) {
		head = streams.CommandHead{Member: to.member, Kind: to.kind}
	} else if err != nil {
		return fmt.Errorf("reading the %s command of %s: %w", to.kind, to.member, err)
	}
	d.sent.correct(head)
	return nil
}

// noteMember looks at what a member is told of its place in the fleet, and at all commands of one that has
// neither spec nor record any more.
func (d *Dispatcher) noteMember(member string) {
	d.queue.Add(address{member, subjects.CommandDisruption}.key())
	if d.left(member) {
		d.queue.Add(address{member, subjects.CommandPlacement}.key())
		d.queue.Add(address{member, subjects.CommandUpgrade}.key())
	}
}

// left says that a member has neither spec nor record, readable or not.
func (d *Dispatcher) left(member string) bool {
	return d.store.State.Revision(d.members.Key(member)) == 0 && d.store.State.Revision(d.seen.Key(member)) == 0
}

// forget removes a command of a member that left, of which nothing is wanted.
func (d *Dispatcher) forget(ctx context.Context, to address) error {
	if !d.sent.known(to) {
		return nil
	}
	if err := d.store.Commands.Purge(ctx, to.member, to.kind); err != nil {
		return err
	}
	d.sent.forget(to)
	d.options.Log.Info().Str("member", to.member).Str("kind", to.kind).Msg("the command of a member that left is purged")
	return nil
}

// newest is the later of two orders.
func newest(a, b api.Order) api.Order {
	if a.Compare(b) < 0 {
		return b
	}
	return a
}
