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

// Index is who follows an index and its changes.
type Index interface {
	// Held is what is followed, false without an index that has changes.
	Held() (Held, bool)
	// Read is what an index as it is stored whole says of itself, false when it has no changes.
	Read(whole []byte) (Held, bool)
	// Take is given all changes that there are of what is held, or an index as it is stored whole with all its changes: what
	// it was before them is nothing to act on.
	Take(ctx context.Context, whole []byte, changes [][]byte, sequence uint64)
}

// readIndex takes the changes of the index that is held, as far as there are any. Where they do not come to what was announced it takes the
// index as it is stored whole, with its changes. It does so too where nothing newer was announced: the index may have been stored anew after
// those changes. It returns the sequence of the newest that was taken.
func (p *Follower) readIndex(ctx context.Context) (uint64, error) {
	want := p.hinted.Load()
	if want <= p.taken {
		want = 0
	}
	held, reached, fault := p.readChanges(ctx, want)
	if fault != nil && !errors.Is(fault, bus.ErrNotOfHub) || reached && want > 0 {
		return p.taken, fault
	}
	body, sequence, err := p.o.Hub.Command(ctx, p.o.Kind)
	if err != nil {
		return p.taken, err
	}
	whole, ok := p.o.Index.Read(body)
	if fault != nil && whole.Position.Base == held.Base {
		return p.taken, fault
	}
	var changes [][]byte
	if ok && whole.Position.Base != held.Base {
		var newest uint64
		if changes, newest, err = p.changesOf(ctx, whole, 0); err != nil {
			return p.taken, err
		}
		p.taken, sequence = 0, max(sequence, newest)
	}
	p.o.Index.Take(ctx, body, changes, sequence)
	p.taken = max(p.taken, sequence)
	return p.taken, nil
}

// readChanges takes the changes of what is held, and returns what is held then, and whether that came to want.
func (p *Follower) readChanges(ctx context.Context, want uint64) (held api.IndexPosition, reached bool, err error) {
	before, ok := p.o.Index.Held()
	if !ok {
		return held, false, nil
	}
	changes, newest, err := p.changesOf(ctx, before, want)
	if len(changes) == 0 {
		return before.Position, false, err
	}
	p.o.Index.Take(ctx, nil, changes, newest)
	after, _ := p.o.Index.Held()
	if after.Position == before.Position {
		return held, false, err // they were not kept
	}
	p.taken = newest
	return after.Position, err == nil && newest >= want, err
}

// changesOf reads the changes of an index one after another, until one is missing, or one comes to want.
func (p *Follower) changesOf(ctx context.Context, h Held, want uint64) (changes [][]byte, newest uint64, err error) {
	for ctx.Err() == nil {
		body, sequence, err := p.o.Hub.Change(ctx, h)
		if errors.Is(err, bus.ErrNotFound) {
			return changes, newest, nil
		}
		if err != nil {
			return changes, newest, err
		}
		changes, newest = append(changes, body), sequence
		if h.Position.Number++; want > 0 && sequence >= want {
			return changes, newest, nil
		}
	}
	return nil, 0, ctx.Err()
}
