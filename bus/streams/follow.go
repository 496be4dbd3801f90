package streams

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"flotilla/bus"
	"flotilla/bus/loop"
	"flotilla/core/api"
	"flotilla/subjects"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	followBatch    = 64
	followWait     = 20 * time.Second // of one request for more events
	followRetry    = 5 * time.Second  // longest between two tries
	followInactive = 5 * time.Minute  // a reader may be busy with one event for that long
)

// AuditPosition is a place in the audit stream: behind the event with this sequence, which the server
// stored then, by its own clock. The zero value is before the oldest event.
type AuditPosition struct {
	Sequence uint64
	Stored   time.Time
}

// AuditEvent is an event of the audit stream, with its subject; Position is the place behind it, Stored when it was stored,
// by the connection's clock.
type AuditEvent struct {
	api.Audit
	Subject  string
	Position AuditPosition
	Stored   time.Time
}

// AuditEnd is the position behind the newest event.
func AuditEnd(ctx context.Context, c *bus.Conn) (AuditPosition, error) {
	ctx, cancel := context.WithTimeout(ctx, bus.AskTimeout)
	defer cancel()
	stream, err := c.JS.Stream(ctx, c.Fleet.Stream(subjects.Audit))
	if err != nil {
		return AuditPosition{}, fmt.Errorf("looking at the audit stream: %w", err)
	}
	state := stream.CachedInfo().State
	return AuditPosition{Sequence: state.LastSeq, Stored: state.LastTime.UTC()}, nil
}

// FollowAudit calls take with every event behind a position, oldest first and one at a time, until ctx
// ends (nil) or take errs. It outlives reconnects and restarts of the server, and asks for no more than
// take keeps up with. Events that cannot be decoded are logged and left out. When the stream is not the
// one that the position was taken in, because it was made anew or lost its last writes, what was stored
// later than the position counts as behind it.
func FollowAudit(ctx context.Context, c *bus.Conn, from AuditPosition, take func(context.Context, AuditEvent) error) error {
	f := &auditFollower{conn: c, at: from, take: take}
	retry := loop.Backoff{Most: followRetry}
	for ctx.Err() == nil {
		before := f.at
		err := f.follow(ctx)
		if errors.Is(err, errTaken) {
			return f.failed
		}
		if ctx.Err() != nil {
			break
		}
		if f.at.Sequence != before.Sequence {
			retry.Reset()
		}
		delay := retry.Next()
		c.Log.Warn().Err(err).Dur("delay", delay).Msg("following the audit stream stopped, trying again")
		loop.Pause(ctx, delay)
	}
	return nil
}

// errTaken says that the function which takes the events erred.
var errTaken = errors.New("taking an event")

type auditFollower struct {
	conn   *bus.Conn
	at     AuditPosition
	take   func(context.Context, AuditEvent) error
	failed error
	next   uint64 // sequence of the consumer to come
}

// follow reads through one consumer until it errs.
func (f *auditFollower) follow(ctx context.Context) error {
	consumer, err := f.open(ctx)
	if err != nil {
		return err
	}
	f.next = 1
	for err == nil && ctx.Err() == nil {
		err = f.batch(ctx, consumer)
	}
	return err
}

// batch takes the events of one request. It returns when the goroutine that delivers them has ended.
func (f *auditFollower) batch(ctx context.Context, consumer jetstream.Consumer) error {
	asking, cancel := context.WithTimeout(ctx, followWait)
	batch, err := consumer.Fetch(followBatch, jetstream.FetchContext(asking), jetstream.FetchHeartbeat(bus.IdleBeat))
	if err != nil {
		cancel()
		return fmt.Errorf("asking for events: %w", err)
	}
	for m := range batch.Messages() {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = f.message(ctx, m)
		}
		if err != nil {
			cancel()
		}
	}
	cancel()
	if err == nil {
		err = batch.Error()
	}
	if errors.Is(err, context.DeadlineExceeded) { // an event took longer than the request
		return nil
	}
	return err
}

// open makes a consumer of everything behind the position.
func (f *auditFollower) open(ctx context.Context) (jetstream.Consumer, error) {
	ctx, cancel := context.WithTimeout(ctx, bus.AskTimeout)
	defer cancel()
	stream, err := f.conn.JS.Stream(ctx, f.conn.Fleet.Stream(subjects.Audit))
	if err != nil {
		return nil, fmt.Errorf("looking at the audit stream: %w", err)
	}
	config := jetstream.ConsumerConfig{
		Description: "follower of " + f.conn.NC.Opts.Name, AckPolicy: jetstream.AckNonePolicy, MaxDeliver: 1,
		InactiveThreshold: followInactive, MemoryStorage: true, Replicas: 1,
	}
	same, err := f.same(ctx, stream)
	switch {
	case err != nil:
		return nil, err
	case f.at.Stored.IsZero():
	case same:
		config.DeliverPolicy, config.OptStartSeq = jetstream.DeliverByStartSequencePolicy, f.at.Sequence+1
	default:
		f.conn.Log.Warn().Time("since", f.at.Stored).Msg("the audit stream is another one than before: following what was stored later")
		later := f.at.Stored.Add(1)
		config.DeliverPolicy, config.OptStartTime = jetstream.DeliverByStartTimePolicy, &later
	}
	consumer, err := stream.CreateConsumer(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("making the consumer: %w", err)
	}
	return consumer, nil
}

// same says whether the stream holds, or held, at the position what it held when that was taken.
func (f *auditFollower) same(ctx context.Context, stream jetstream.Stream) (bool, error) {
	state := stream.CachedInfo().State
	switch {
	case f.at.Sequence > state.LastSeq:
		return false, nil
	case f.at.Sequence < state.FirstSeq:
		return f.at.Stored.Before(state.FirstTime) || state.Msgs == 0, nil
	case f.at.Sequence == 0:
		return true, nil
	}
	m, err := stream.GetMsg(ctx, f.at.Sequence)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading event %d: %w", f.at.Sequence, err)
	}
	return m.Time.Equal(f.at.Stored), nil
}

func (f *auditFollower) message(ctx context.Context, m jetstream.Msg) error {
	meta, err := m.Metadata()
	if err != nil {
		return fmt.Errorf("message without metadata: %w", err)
	}
	if meta.Sequence.Consumer != f.next {
		return fmt.Errorf("gap: message %d came for %d", meta.Sequence.Consumer, f.next)
	}
	f.next++
	position := AuditPosition{Sequence: meta.Sequence.Stream, Stored: meta.Timestamp.UTC()}
	event := AuditEvent{Subject: m.Subject(), Position: position, Stored: f.conn.FromMachine(position.Stored)}
	if err := json.Unmarshal(m.Data(), &event.Audit); err != nil {
		f.conn.Log.Warn().Err(err).Str("subject", m.Subject()).Msg("audit event cannot be decoded")
	} else if err := f.take(ctx, event); err != nil {
		f.failed = err
		return errTaken
	}
	f.at = position
	return nil
}
