package streams

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"flotilla/bus"
	"flotilla/bus/loop"
	"flotilla/core/api"

	"github.com/nats-io/nats.go"
)

const (
	auditRetry = 400 * time.Millisecond
	// auditPatience is how long a server may be there and not take an event, as while it starts; without
	// a server events wait, and those of people for as long as the hub leads.
	auditPatience = 10 * time.Second
	// auditSettles is how long at most it is waited for word of a write that was announced, once nothing is written any more.
	auditSettles = 5 * time.Second
)

var errQueueFull = errors.New("too many events are waiting")

// Audit writes what happened, for people.
type Audit struct {
	conn    *bus.Conn
	queue   *eventQueue
	ended   chan struct{} // closed by End
	end     sync.Once
	dropped atomic.Uint64
	stored  atomic.Pointer[func()]
	// patience is for how long a server may be there and not take an event that no person caused.
	patience time.Duration
}

// NewAudit returns the audit stream of the connection's fleet; Run publishes.
func NewAudit(c *bus.Conn) *Audit {
	return &Audit{conn: c, queue: newEventQueue(), ended: make(chan struct{}), patience: auditPatience}
}

// OnStored has f called whenever an event was stored; it must not block.
func (a *Audit) OnStored(f func()) { a.stored.Store(&f) }

// Record publishes events in the background; it never blocks, and drops (with a log line and a count) those that people did not
// cause when thousands are waiting. Object is "<kind>/<name>", "placement/web". The header is filled in, At
// too when it is zero, and the message is cut so that an event fits into 1 KiB.
func (a *Audit) Record(events ...api.Audit) { a.put(nil, events) }

// Announce records events of a write that is about to be made, so that they stand before those of who
// sees it. The returned function must be called soon: nothing recorded after them is published before.
// They are published when it says that the write was made, and forgotten otherwise. The write must not be made after an error, an
// *api.Failure with CodeUnavailable: there is no room for an event of a person.
func (a *Audit) Announce(events ...api.Audit) (settle func(made bool), err error) {
	if slices.ContainsFunc(events, func(e api.Audit) bool { return ofPerson(&e) }) {
		if err := a.queue.refuse(); err != nil {
			return nil, err
		}
	}
	happened := make(chan bool, len(events))
	a.put(happened, events)
	return func(made bool) {
		for range events {
			happened <- made
		}
	}, nil
}

// Tell publishes an event and returns when it is stored, or dropped because the server does not take it.
func (a *Audit) Tell(ctx context.Context, e api.Audit) { a.publish(ctx, a.complete(e)) }

// complete fills in what an event says of itself.
func (a *Audit) complete(e api.Audit) api.Audit {
	e.Header = api.NewHeader(api.KindAudit)
	if e.At.IsZero() {
		e.At.Time = a.conn.Now()
	}
	return e
}

func (a *Audit) put(happened <-chan bool, events []api.Audit) {
	for _, e := range events {
		if e = a.complete(e); !a.queue.put(queued{e, happened}) {
			a.drop(e, errQueueFull)
		}
	}
}

// Dropped counts events that could not be kept.
func (a *Audit) Dropped() uint64 { return a.dropped.Load() }

func (a *Audit) drop(e api.Audit, err error) {
	a.dropped.Add(1)
	a.conn.Log.Warn().Err(err).Str("object", e.Object).Str("reason", e.Reason).Msg("audit event dropped")
}

// End has Run publish what is still waiting, and return.
func (a *Audit) End() { a.end.Do(func() { close(a.ended) }) }

// Run publishes until ctx ends, or End, and then what is still waiting: from then on nothing can be announced.
func (a *Audit) Run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-a.ended:
			cancel()
		case <-ctx.Done():
		}
	}()
	for {
		select {
		case <-a.queue.came:
			a.flush(ctx)
		case <-ctx.Done():
			a.queue.close()
			a.flush(ctx)
			return
		}
	}
}

// flush publishes what waits, and once ctx ended no more than a connection takes.
func (a *Audit) flush(ctx context.Context) {
	for ctx.Err() == nil || a.conn.NC.IsConnected() {
		one, found := a.queue.take()
		if !found {
			return
		}
		a.settled(ctx, one)
	}
}

// settled publishes an event once it is known to have happened. Once ctx ended that is known soon, or the event is dropped.
func (a *Audit) settled(ctx context.Context, q queued) {
	happened := q.happened == nil
	if !happened {
		select {
		case happened = <-q.happened:
		case <-ctx.Done():
			late := time.NewTimer(auditSettles)
			defer late.Stop()
			select {
			case happened = <-q.happened:
			case <-late.C:
				a.drop(q.event, errors.New("it is not known whether it happened"))
			}
		}
	}
	if happened {
		a.publish(ctx, q.event)
	}
}

func (a *Audit) publish(ctx context.Context, e api.Audit) {
	kind, name, ok := strings.Cut(e.Object, "/")
	if !ok {
		a.drop(e, fmt.Errorf("object %q: expected <kind>/<name>", e.Object))
		return
	}
	m := nats.NewMsg(a.conn.Fleet.AuditEvent(kind, name))
	var err error
	if m.Data, err = fit(e); err != nil {
		a.drop(e, err)
		return
	}
	served := time.Now() // since when a server is there without taking the event
	retry := loop.Backoff{Most: auditRetry}
	for {
		_, err = a.conn.Publish(ctx, m)
		if err == nil {
			if stored := a.stored.Load(); stored != nil {
				(*stored)()
			}
			return
		}
		if !a.conn.NC.IsConnected() {
			served = time.Now()
		}
		late := time.Since(served) > a.patience
		if late && !ofPerson(&e) || ctx.Err() != nil || a.conn.NC.IsClosed() {
			a.drop(e, err)
			return
		}
		if late {
			a.conn.Log.Error().Err(err).Str("object", e.Object).Str("by", e.By).Msg("an event of a person is not stored; nothing after it is told before it is")
			served = time.Now()
		}
		retry.Wait(ctx)
	}
}

// fit renders an event within MaxAudit bytes: without its spec, and without names of members, where there is no room for
// them, and with its message cut to the longest that fits.
func fit(e api.Audit) ([]byte, error) {
	whole := e.Message
	text, err := json.Marshal(e)
	if err != nil || len(text) <= bus.MaxAudit {
		return text, err
	}
	if e.Spec != nil {
		e.Spec = nil
		return fit(e)
	}
	tooLong := func(n int) bool {
		e.Message = cut(whole, n)
		text, err = json.Marshal(e)
		return err != nil || len(text) > bus.MaxAudit
	}
	n := sort.Search(len(whole), tooLong) - 1
	if n < 0 && e.Picks != nil && !reflect.DeepEqual(e.Picks, e.Picks.Bare()) {
		e.Message, e.Picks = whole, e.Picks.Bare()
		return fit(e)
	}
	if n < 0 {
		return nil, fmt.Errorf("%w: more than %d bytes without its message", bus.ErrTooLarge, bus.MaxAudit)
	}
	e.Message = cut(whole, n)
	return json.Marshal(e)
}

// cut shortens text to at most n bytes and an ellipsis, between characters; to nothing when n is 0.
func cut(text string, n int) string {
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	if n == 0 {
		return ""
	}
	return text[:n] + "…"
}
