package store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"flotilla/bus"
	"flotilla/bus/streams"
	"flotilla/core/api"
	"flotilla/core/seal"
	"flotilla/subjects"

	"github.com/nats-io/nats.go"
)

// Times of the lease, see LeadOptions.
const (
	leaseTTL    = 20 * time.Second
	leaseRenew  = 5 * time.Second
	leaseMargin = 5 * time.Second
	leasePoll   = 5 * time.Second
)

// errHeld says that somebody else holds the lease.
var errHeld = errors.New("the lease is held")

// lease is the key hub of bucket lease, as one candidate sees it.
type lease struct {
	conn     *bus.Conn
	id       string
	ttl      time.Duration
	sequence uint64                    // of our own last write
	until    atomic.Pointer[time.Time] // when it ends, by our clock
	// settled is what it says of state, see api.Lease: what its last holder said, until we know better.
	settled atomic.Uint64
}

// left is how long the lease is ours yet.
func (l *lease) left() time.Duration {
	until := l.until.Load()
	if until == nil {
		return 0
	}
	return time.Until(*until)
}

// acquire takes the lease when it is free, or when it is held under our own id: then by a process of
// ours that ended, because ids are unique. It returns errHeld with the holder otherwise.
func (l *lease) acquire(ctx context.Context) error {
	m, err := l.conn.LastMessage(ctx, l.stream(), l.subject())
	if err != nil {
		return err
	}
	if m == nil {
		return l.write(ctx, 0, bus.PublishTimeout)
	}
	var held api.Lease
	if !bus.IsMarker(m.Header) {
		if err := json.Unmarshal(m.Data, &held); err != nil {
			return fmt.Errorf("the lease record: %w", err)
		}
	}
	l.settled.Store(held.Settled)
	if held.Holder != "" && held.Holder != l.id {
		return fmt.Errorf("%w by %s", errHeld, held.Holder)
	}
	return l.write(ctx, m.Sequence, bus.PublishTimeout)
}

// write stores the lease with a new life, on top of expected, waiting at most limit. It must not be a
// KV update, which would take the time to live away.
func (l *lease) write(ctx context.Context, expected uint64, limit time.Duration) error {
	value := api.Lease{Header: api.NewHeader(api.KindLease), Holder: l.id, Settled: l.settled.Load()}
	value.Since.Time = l.conn.Now().UTC().Truncate(time.Second)
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	m := nats.NewMsg(l.subject())
	m.Data = text
	m.Header.Set(bus.HeaderTTL, l.ttl.String())
	bus.Expect(m, expected)
	began := time.Now()
	ack, err := l.conn.PublishWithin(ctx, m, limit)
	if outcomeOf(err) == mismatched {
		return fmt.Errorf("%w: it changed while we wrote it", errHeld)
	}
	if err != nil {
		return err
	}
	until := began.Add(l.ttl)
	l.sequence = ack.Sequence
	l.until.Store(&until)
	return nil
}

// keep renews until ctx ends or the lease is in danger, margin before its deadline.
func (l *lease) keep(ctx context.Context, renew, margin time.Duration) error {
	timer := time.NewTimer(renew)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		}
		left := l.left() - margin
		if left <= 0 {
			return fmt.Errorf("the lease was not renewed in time: %w", bus.ErrDeposed)
		}
		err := l.renew(ctx, left)
		switch {
		case err == nil:
			timer.Reset(renew)
		case errors.Is(err, errHeld):
			return fmt.Errorf("%w: %w", bus.ErrDeposed, err)
		default:
			l.conn.Log.Warn().Err(err).Dur("left", left).Msg("renewing the lease, trying again")
			timer.Reset(min(renew/5, max(left, 0)))
		}
	}
}

// renew writes the lease, waiting at most limit for the answer. A renewal whose answer was lost may
// have been stored, so on a mismatch it looks once whether the lease is ours all the same.
func (l *lease) renew(ctx context.Context, limit time.Duration) error {
	err := l.write(ctx, l.sequence, limit)
	if !errors.Is(err, errHeld) {
		return err
	}
	m, readErr := l.conn.LastMessage(ctx, l.stream(), l.subject())
	if readErr != nil || m == nil || bus.IsMarker(m.Header) {
		return errors.Join(err, readErr)
	}
	var held api.Lease
	if json.Unmarshal(m.Data, &held) != nil || held.Holder != l.id {
		return err
	}
	return l.write(ctx, m.Sequence, limit)
}

// release gives the lease up, so that another need not wait for its end.
func (l *lease) release(ctx context.Context) error {
	m := nats.NewMsg(l.subject())
	m.Header.Set(bus.HeaderOperation, bus.OperationDelete)
	m.Header.Set(bus.HeaderTTL, tombstoneTTL)
	bus.Expect(m, l.sequence)
	_, err := l.conn.Publish(ctx, m)
	if outcomeOf(err) == mismatched {
		return nil
	}
	return err
}

func (l *lease) stream() string { return l.conn.Fleet.BucketStream(subjects.Lease) }

func (l *lease) subject() string {
	return l.conn.Fleet.BucketSubject(subjects.Lease, subjects.LeaseKey)
}

// LeadOptions tunes Lead. The zero value is for production.
type LeadOptions struct {
	// TTL of the lease (20 s, at least 1 s), Renew between renewals (5 s), Margin before the own
	// deadline at which the leader stops acting (5 s), Poll between looks at a held lease (5 s).
	TTL, Renew, Margin, Poll time.Duration
	// Layout is applied after the term is written.
	Layout streams.LayoutOptions
	// Secrets are those that content is sealed with, read anew for each term. Where they cannot be read it returns the error, and
	// those that were read before, if there are any: they do unless they are not the fleet's, and then they are read again later.
	Secrets func() (*seal.Keyring, error)
}

func (o LeadOptions) withDefaults() LeadOptions {
	o.TTL = cmp.Or(o.TTL, leaseTTL)
	o.Renew = cmp.Or(o.Renew, leaseRenew)
	o.Margin = cmp.Or(o.Margin, leaseMargin)
	o.Poll = cmp.Or(o.Poll, leasePoll)
	if o.Secrets == nil {
		o.Secrets = func() (*seal.Keyring, error) { return nil, fmt.Errorf("%w: none were given", streams.ErrSecrets) }
	}
	return o
}
