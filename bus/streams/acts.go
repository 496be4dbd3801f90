package streams

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"flotilla/bus"
	"flotilla/bus/loop"
	"flotilla/subjects"

	"github.com/nats-io/nats.go"
)

// Headers of an event in stream ACTS: its sequence in the audit stream, and when the server stored it there, as RFC 3339.
const (
	headerAudit       = "Flotilla-Audit"
	headerAuditStored = "Flotilla-Audit-Stored"
)

// KeepActs copies the events of people from the audit stream to stream ACTS, where what members cause takes no room from them, until ctx
// ends. It goes on behind the newest copy: each event is copied once, also where a hub that led before still copies.
func KeepActs(ctx context.Context, c *bus.Conn) error {
	k := &actsKeeper{conn: c}
	retry := loop.Backoff{Most: followRetry}
	for ctx.Err() == nil {
		err := k.find(ctx)
		if err == nil {
			retry.Reset()
			err = FollowAudit(ctx, c, k.of, k.take)
		}
		if err != nil {
			c.Log.Warn().Err(err).Msg("what people did is not copied, trying again")
			retry.Wait(ctx)
		}
	}
	return nil
}

type actsKeeper struct {
	conn *bus.Conn
	last uint64        // sequence of the newest copy
	of   AuditPosition // what that is a copy of
}

// find notes the newest copy. The end of the stream is behind it where a message was deleted by hand.
func (k *actsKeeper) find(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, bus.AskTimeout)
	defer cancel()
	name := k.conn.Fleet.Stream(subjects.Acts)
	stream, err := k.conn.JS.Stream(ctx, name)
	if err != nil {
		return fmt.Errorf("looking at stream %s: %w", name, err)
	}
	m, err := k.conn.LastMessage(ctx, name, k.conn.Fleet.AllActs())
	if err != nil {
		return fmt.Errorf("reading stream %s: %w", name, err)
	}
	k.last, k.of = stream.CachedInfo().State.LastSeq, AuditPosition{}
	if m == nil {
		return nil
	}
	k.last = max(k.last, m.Sequence)
	k.of, err = copiedFrom(m.Header)
	return err
}

// copiedFrom is the place in the audit stream of what a message of stream ACTS is a copy of.
func copiedFrom(h nats.Header) (at AuditPosition, err error) {
	if at.Sequence, err = strconv.ParseUint(h.Get(headerAudit), 10, 64); err == nil {
		at.Stored, err = time.Parse(time.RFC3339Nano, h.Get(headerAuditStored))
	}
	if err != nil {
		return at, fmt.Errorf("stream %s holds a message that no hub has written: %w", subjects.Acts, err)
	}
	return at, nil
}

// errCopiesGone says that copies are gone that were there.
var errCopiesGone = errors.New("stream " + subjects.Acts + " was emptied, or made anew, meanwhile")

// take copies an event of a person. It returns once the copy is stored, or ctx ends, and errs when copies before it are gone.
func (k *actsKeeper) take(ctx context.Context, e AuditEvent) error {
	subject, named := k.conn.Fleet.ActOf(e.Subject)
	if !ofPerson(&e.Audit) || !named {
		return nil
	}
	m := nats.NewMsg(subject)
	var err error
	if m.Data, err = encoded(e.Audit); err != nil {
		return err
	}
	m.Header.Set(headerAudit, strconv.FormatUint(e.Position.Sequence, 10))
	m.Header.Set(headerAuditStored, e.Position.Stored.Format(time.RFC3339Nano))
	retry := loop.Backoff{Most: followRetry}
	for ctx.Err() == nil && k.of.before(e.Position) {
		last := k.of
		err := k.put(ctx, m, e.Position)
		switch {
		case k.of.before(last):
			return errCopiesGone
		case err != nil && k.of == last:
			k.conn.Log.Warn().Err(err).Str("object", e.Object).Msg("what a person did is not copied, trying again")
			retry.Wait(ctx)
		}
	}
	return nil
}

// put stores a copy behind the newest. After an error the newest is looked up anew: the copy may be stored although its acknowledgement
// was lost, and another hub may have copied meanwhile.
func (k *actsKeeper) put(ctx context.Context, m *nats.Msg, of AuditPosition) error {
	bus.ExpectLast(m, k.last)
	ack, err := k.conn.Publish(ctx, m)
	if err != nil {
		return errors.Join(err, k.find(ctx))
	}
	k.last, k.of = ack.Sequence, of
	return nil
}

// before says that one place in the audit stream may be before another: sequences begin anew with a stream that was made anew, and clocks
// of servers go back.
func (p AuditPosition) before(other AuditPosition) bool {
	return p.Sequence < other.Sequence || p.Stored.Before(other.Stored)
}
