package member

import (
	"context"
	"errors"
	"fmt"

	"flotilla/bus"
	"flotilla/core/api"
	"flotilla/core/seal"
	"flotilla/subjects"
)

// Held is the index that an agent follows: up to which of its changes, and the key that they are sealed with.
type Held struct {
	Position api.IndexPosition
	Session  []byte
}

// next is where the next change is for who holds this, and its slot.
func (h Held) next() (api.IndexPosition, int) {
	return api.IndexPosition{Base: h.Position.Base, Number: h.Position.Number + 1}, h.Position.Number
}

// Change reads the change that comes after what is held, as the hub wrote it. ErrNotFound: there is none yet, or the
// index was stored whole since.
func (a *Conn) Change(ctx context.Context, h Held) (body []byte, sequence uint64, err error) {
	position, slot := h.next()
	if slot >= subjects.CommandSlots {
		return nil, 0, bus.ErrNotFound
	}
	f := a.conn.Fleet
	m, err := a.direct(ctx, f.Stream(subjects.Commands), f.CommandDelta(a.member, slot))
	if err != nil {
		return nil, 0, fmt.Errorf("reading change %s of the index: %w", position, err)
	}
	if m.Header.Get(bus.HeaderPosition) != position.String() {
		return nil, 0, bus.ErrNotFound
	}
	if body, err = seal.Open(seal.Change(a.member, h.Session, position), m.Value, bus.MaxCommand); err != nil {
		return nil, 0, fmt.Errorf("reading change %s of the index: %w: %w", position, bus.ErrNotOfHub, err)
	}
	return body, m.Sequence, nil
}

// readIndex takes the changes of the index that is held, as far as there are any, and where that does not come to what
// was announced, the index as it is stored whole, with its changes. It returns the sequence of the newest that was taken.
func (p *Follower) readIndex(ctx context.Context) (uint64, error) {
	want := p.hinted.Load()
	fault := p.readChanges(ctx, want)
	if fault != nil && !errors.Is(fault, bus.ErrNotOfHub) || fault == nil && want > 0 && p.taken >= want {
		return p.taken, fault
	}
	before, _ := p.o.Held()
	body, sequence, err := p.o.Hub.Command(ctx, p.o.Kind)
	if err != nil {
		return p.taken, err
	}
	p.o.Take(ctx, body, sequence)
	if now, _ := p.o.Held(); now.Position == before.Position {
		p.taken = max(p.taken, sequence)
		return p.taken, fault
	}
	p.taken = sequence
	return p.taken, p.readChanges(ctx, 0)
}

// readChanges takes changes one after another, until one is missing, or one was taken that comes to want.
func (p *Follower) readChanges(ctx context.Context, want uint64) error {
	for ctx.Err() == nil {
		held, ok := p.o.Held()
		if !ok {
			return nil
		}
		body, sequence, err := p.o.Hub.Change(ctx, held)
		switch {
		case errors.Is(err, bus.ErrNotFound):
			return nil
		case err != nil:
			return err
		}
		p.o.TakeChange(ctx, body, sequence)
		if now, _ := p.o.Held(); now.Position == held.Position {
			return nil // it was not taken
		}
		if p.taken = sequence; want > 0 && sequence >= want {
			return nil
		}
	}
	return ctx.Err()
}
