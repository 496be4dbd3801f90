package dispatcher

import (
	"context"
	"errors"
	"fmt"

	"flotilla/bus"
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
	_, head, err := d.store.Commands.Get(ctx, to.member, to.kind)
	if errors.Is(err, bus.ErrNotFound) {
		head = bus.CommandHead{Member: to.member, Kind: to.kind}
	} else if err != nil {
		return fmt.Errorf("reading the %s command of %s: %w", to.kind, to.member, err)
	}
	d.sent.correct(head)
	return nil
}

// noteMember looks at the commands of a member that has neither spec nor record any more.
func (d *Dispatcher) noteMember(member string) {
	if !d.left(member) {
		return
	}
	for _, kind := range []string{subjects.CommandPlacement, subjects.CommandUpgrade} {
		d.queue.Add(address{member, kind}.key())
	}
}

// left says that a member has neither spec nor record, readable or not.
func (d *Dispatcher) left(member string) bool {
	return d.store.State.Revision(d.members.Key(member)) == 0 && d.store.State.Revision(d.seen.Key(member)) == 0
}

// forget removes the commands of a member that left, once nothing is wanted of it.
func (d *Dispatcher) forget(ctx context.Context, member string) error {
	if len(d.index.entries(member)) > 0 || d.operations.of(member) != nil || !d.sent.any(member) {
		return nil
	}
	if err := d.store.Commands.Purge(ctx, member); err != nil {
		return err
	}
	d.sent.forget(member)
	d.options.Log.Info().Str("member", member).Msg("commands of a member that left are purged")
	return nil
}

// newest is the later of two orders.
func newest(a, b api.Order) api.Order {
	if a.Compare(b) < 0 {
		return b
	}
	return a
}
