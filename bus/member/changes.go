package member

import (
	"context"
	"errors"
	"fmt"

	"flotilla/bus"
	"flotilla/core/api"
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
	if body, err = bus.OpenChange(a.member, h.Session, position, m.Value); err != nil {
		return nil, 0, fmt.Errorf("reading change %s of the index: %w", position, err)
	}
	return body, m.Sequence, nil
}

// readIndex takes the changes of the index that is held, as far as there are any, and where that does not come to what
// was announced, the index as it is stored whole, with its changes. It returns the sequence of the newest that was taken.
func (p *Follower) readIndex(ctx context.Context) (uint64, error) {
	want := p.hinted.Load()
	took, fault := p.readChanges(ctx, want)
	if fault != nil && !errors.Is(fault, bus.ErrNotOfHub) || fault == nil && took && p.taken >= want {
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
	_, err = p.readChanges(ctx, 0)
	return p.taken, err
}

// readChanges takes changes one after another, until one is missing, or one was taken that comes to want; it says whether
// any was.
func (p *Follower) readChanges(ctx context.Context, want uint64) (took bool, err error) {
	for ctx.Err() == nil {
		held, ok := p.o.Held()
		if !ok {
			return took, nil
		}
		body, sequence, err := p.o.Hub.Change(ctx, held)
		switch {
		case errors.Is(err, bus.ErrNotFound):
			return took, nil
		case err != nil:
			return took, err
		}
		p.o.TakeChange(ctx, body, sequence)
		if now, _ := p.o.Held(); now.Position == held.Position {
			return took, nil // it was not kept
		}
		took, p.taken = true, sequence
		if want > 0 && sequence >= want {
			return took, nil
		}
	}
	return took, ctx.Err()
}
