package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"flotilla/bus"
	"flotilla/bus/loop"
	"flotilla/bus/streams"
	"flotilla/bus/watch"
	"flotilla/core/api"
	"flotilla/core/seal"
	"flotilla/subjects"
)

// Lead competes for the lease as id, which no other hub may use, until ctx ends. While id holds it,
// act runs with a Store that is open and synced; its context ends when the lease is in danger or the
// Store is deposed, and Lead waits for act to return before it competes again. It returns when ctx
// ends (nil), when act returns an error that is not caused by losing the lease, or with ErrLayoutNewer,
// ErrSecrets or ErrOlderState.
func Lead(ctx context.Context, c *bus.Conn, id string, o LeadOptions, act func(ctx context.Context, s *Store) error) error {
	o = o.withDefaults()
	l := &leadership{conn: c, id: id, options: o, act: act, wake: make(chan struct{}, 1)}
	retry := loop.Backoff{Most: leadRetry}
	for ctx.Err() == nil {
		err := l.once(ctx)
		switch {
		case ctx.Err() != nil && (err == nil || errors.Is(err, ctx.Err()) || errors.Is(err, bus.ErrDeposed)):
			return nil
		case err == nil || errors.Is(err, bus.ErrDeposed) || errors.Is(err, bus.ErrDamaged):
			c.Log.Warn().Err(err).Str("hub", id).Msg("not leading any more, competing again")
			retry.Reset()
		case errors.Is(err, errActed) || errors.Is(err, bus.ErrLayoutNewer) || errors.Is(err, bus.ErrNotFound) || errors.Is(err, streams.ErrSecrets) || errors.Is(err, streams.ErrOlderState):
			return err
		default:
			delay := retry.Next()
			c.Log.Warn().Err(err).Str("hub", id).Dur("delay", delay).Msg("competing for the lease, trying again")
			loop.Pause(ctx, delay)
		}
	}
	return nil
}

// leadRetry is the longest wait between two tries to lead.
const leadRetry = 2 * time.Second

// errActed marks an error that act returned while it led.
var errActed = errors.New("leading")

// leadership is one hub's wish to lead.
type leadership struct {
	conn    *bus.Conn
	id      string
	options LeadOptions
	act     func(ctx context.Context, s *Store) error
	wake    chan struct{}
}

// once prepares the ground, waits for the lease, leads, and gives the lease up.
func (l *leadership) once(ctx context.Context) error {
	if _, err := streams.EnsureFirst(ctx, l.conn, l.options.Layout); err != nil {
		return err
	}
	if _, err := l.secrets(ctx); err != nil {
		return err
	}
	lease, err := l.compete(ctx)
	if err != nil {
		return err
	}
	leading, stop := context.WithCancelCause(ctx)
	var keeping sync.WaitGroup
	keeping.Go(func() {
		if err := lease.keep(leading, l.options.Renew, l.options.Margin); err != nil {
			stop(err)
		}
	})
	err = l.lead(leading, lease)
	if cause := context.Cause(leading); cause != nil && ctx.Err() == nil {
		err = cause
	}
	stop(nil)
	keeping.Wait()
	if released := lease.release(context.WithoutCancel(ctx)); released != nil {
		l.conn.Log.Warn().Err(released).Msg("giving up the lease")
	}
	return err
}

// secrets are those of this hub, which are the fleet's. Secrets that cannot be read now are no other fleet's: they are read again later.
func (l *leadership) secrets(ctx context.Context) (*seal.Keyring, error) {
	keys, unread := l.options.Secrets()
	if keys == nil {
		return nil, fmt.Errorf("reading the secrets: %w", unread)
	}
	err := checkLayout(ctx, l.conn, keys)
	if unread != nil && errors.Is(err, streams.ErrSecrets) {
		return nil, fmt.Errorf("reading the secrets: %w; with those that were read before %s", unread, err.Error())
	}
	return keys, err
}

// checkLayout refuses to compete when a newer hub has made the layout, and with secrets that are not the fleet's.
func checkLayout(ctx context.Context, c *bus.Conn, keys *seal.Keyring) error {
	m, err := c.LastMessage(ctx, c.Fleet.BucketStream(subjects.State), c.Fleet.BucketSubject(subjects.State, subjects.LayoutKey))
	if err != nil || m == nil || bus.IsMarker(m.Header) {
		return err
	}
	var found api.Layout
	if err := json.Unmarshal(m.Data, &found); err != nil {
		return fmt.Errorf("the layout record: %w", err)
	}
	if found.Step > streams.LayoutStep() {
		return fmt.Errorf("%w: step %d is stored, this hub knows %d: run the newer hub", bus.ErrLayoutNewer, found.Step, streams.LayoutStep())
	}
	if found.Format > api.StateFormat {
		return fmt.Errorf("%w: content is stored in format %d, this hub knows %d: run the newer hub", bus.ErrLayoutNewer, found.Format, api.StateFormat)
	}
	return streams.CheckSecrets(&found, keys)
}

// compete waits until the lease is ours: it looks when the bucket changes, and polls because the end
// of a time to live is announced to nobody.
func (l *leadership) compete(ctx context.Context) (*lease, error) {
	ctx, cancel := context.WithCancel(ctx)
	watch := watch.NewCache(l.conn, subjects.Lease)
	watch.OnChange(func(string) {
		select {
		case l.wake <- struct{}{}:
		default:
		}
	})
	var watching sync.WaitGroup
	defer watching.Wait()
	defer cancel()
	mine := &lease{conn: l.conn, id: l.id, ttl: l.options.TTL}
	for waiting := false; ; {
		err := mine.acquire(ctx)
		if err == nil || !errors.Is(err, errHeld) {
			return mine, err
		}
		if !waiting {
			l.conn.Log.Info().Err(err).Str("hub", l.id).Msg("waiting to lead")
			watching.Go(func() { watch.Run(ctx) })
			waiting = true
		}
		timer := time.NewTimer(l.options.Poll)
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-l.wake:
		}
		timer.Stop()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
}

// lead takes the term, applies the layout, opens the store and acts.
func (l *leadership) lead(ctx context.Context, lease *lease) error {
	taken, err := takeTerm(ctx, l.conn, l.id)
	if err != nil {
		return fmt.Errorf("taking the term: %w", err)
	}
	layout, err := streams.EnsureLayout(ctx, l.conn, l.options.Layout)
	if err != nil {
		return err
	}
	for _, d := range layout.Differences {
		l.conn.Log.Warn().Msg(d.String())
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	keys, err := l.secrets(ctx) // they may have been rotated while another hub led
	if err != nil {
		return err
	}
	store, err := OpenStore(ctx, l.conn, taken, keys)
	if err != nil {
		return err
	}
	defer store.Wait()
	defer cancel(nil)
	store.Layout = layout
	store.leads = func() bool { return lease.left() > 0 }
	if err := store.count(ctx, lease, cancel); err != nil {
		return err
	}
	defer store.closeLedger()
	if store.Damage == nil {
		if err := store.recordLayout(ctx); err != nil {
			return err
		}
		l.conn.Log.Info().Str("hub", l.id).Uint64("term", store.Term.Term).Uint64("epoch", store.Term.Epoch).Msg("leading")
	}
	err = l.act(ctx, store)
	store.Writer.close() // who acts still does so for nobody
	if cause := context.Cause(ctx); errors.Is(cause, bus.ErrDamaged) {
		return cause
	}
	if err == nil || errors.Is(err, bus.ErrDeposed) || ctx.Err() != nil {
		return err
	}
	return fmt.Errorf("%w: %w", errActed, err)
}

// Taken is a term that was written.
type Taken struct {
	Term  api.Term
	fence uint64 // its sequence
	on    standing
}

// takeTerm writes a new term above everything recorded and everything any member holds. A write of the one
// before, which comes between, is counted in.
func takeTerm(ctx context.Context, c *bus.Conn, id string) (Taken, error) {
	said := uint64(0)
	for between := 0; ; between++ {
		taken, err := tryTerm(ctx, c, id, said)
		said = lastSaid(err)
		if outcomeOf(err) != mismatched || between == mostBetween || ctx.Err() != nil {
			return taken, err
		}
	}
}

func tryTerm(ctx context.Context, c *bus.Conn, id string, said uint64) (taken Taken, err error) {
	recorded, sequence, err := readTerm(ctx, c)
	if err != nil {
		return taken, err
	}
	held, err := highestHeld(ctx, c, recorded, time.Now())
	if err != nil {
		return taken, err
	}
	if taken.on, err = readStanding(ctx, c); err != nil {
		return taken, err
	}
	taken.on = taken.on.atLeast(said)
	taken.Term = newTerm(recorded, held, id, c.Now())
	taken.fence, err = writeTerm(ctx, c, taken.Term, sequence, taken.on, bus.PublishTimeout)
	return taken, err
}

// highestHeld is the newest order that any heartbeat says its member holds. What is not credible, and what
// those say who are no members, is left out.
func highestHeld(ctx context.Context, c *bus.Conn, recorded api.Term, now time.Time) (api.Order, error) {
	var highest api.Order
	cells, err := watch.Read(ctx, c, subjects.Heartbeat)
	if err != nil {
		return highest, err
	}
	for key, found := range cells {
		var h struct {
			Holds api.Order `json:"holds"`
		}
		if err := bus.Decode(found.Value, bus.HeartbeatBounds, &h); err != nil {
			c.Log.Warn().Err(err).Str("member", key).Msg("heartbeat cannot be decoded")
			continue
		}
		if h.Holds.Epoch <= max(recorded.Epoch, highest.Epoch) && h.Holds.Term <= max(recorded.Term, highest.Term) {
			continue
		}
		member, err := isMember(ctx, c, key)
		if err != nil {
			return highest, err
		}
		if !member || !credible(h.Holds, recorded, now) {
			c.Log.Warn().Str("member", key).Uint64("epoch", h.Holds.Epoch).Uint64("term", h.Holds.Term).Bool("admitted", member).
				Msg("its agent claims to hold an order that no hub gave it: not followed")
			continue
		}
		highest.Epoch, highest.Term = max(highest.Epoch, h.Holds.Epoch), max(highest.Term, h.Holds.Term)
	}
	return highest, nil
}

// isMember says whether a member has a spec, which an agent cannot write.
func isMember(ctx context.Context, c *bus.Conn, name string) (bool, error) {
	m, err := c.LastMessage(ctx, c.Fleet.BucketStream(subjects.State), c.Fleet.BucketSubject(subjects.State, subjects.MemberSpecs.Key(name)))
	return err == nil && m != nil && !bus.IsMarker(m.Header), err
}
