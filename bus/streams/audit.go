package streams

import (
	"bytes"
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
	"flotilla/subjects"

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
	acts    actShares
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

// Ease waits until few events wait to be stored. Who writes much does so between its parts, so that its events leave room for those of
// others. The error is that of ctx.
func (a *Audit) Ease(ctx context.Context) error {
	eased := a.queue.easing()
	if eased == nil {
		return nil
	}
	select {
	case <-eased:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
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
	m := nats.NewMsg(subjectOf(a.conn.Fleet, kind, name))
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
			if ofPerson(&e) {
				a.acts.add(e.By, len(m.Data)+len(m.Subject)+bus.MessageOverhead, a.conn.Now())
			}
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

// subjectOf is the subject of events of an object, whose name is cut where it is longer than a subject may be.
func subjectOf(fleet subjects.Fleet, kind, name string) string {
	whole := fleet.AuditEvent(kind, name)
	if len(whole) <= subjects.MostLength {
		return whole
	}
	tooLong := func(n int) bool { return len(fleet.AuditEvent(kind, cut(name, n))) > subjects.MostLength }
	return fleet.AuditEvent(kind, cut(name, max(sort.Search(len(name), tooLong)-1, 0)))
}

// fit renders an event within MaxAudit bytes: without its spec, and without names of members, where there is no room for
// them, with its message cut to the longest that fits, and where not even an empty one does, with all texts cut to one length.
// A text that was cut ends with an ellipsis. Whatever texts an event has, it fits.
func fit(e api.Audit) ([]byte, error) {
	text, err := encoded(e)
	switch {
	case err == nil && len(text) <= bus.MaxAudit:
		return text, nil
	case e.Spec != nil:
		e.Spec = nil
		return fit(e)
	case err != nil:
		return nil, err
	}
	if text := fitting(&e, &e.Message); text != nil {
		return text, nil
	}
	if e.Picks != nil && !reflect.DeepEqual(e.Picks, e.Picks.Bare()) {
		e.Picks = e.Picks.Bare()
		return fit(e)
	}
	if text := fitting(&e, &e.Message, &e.Object, &e.Reason, &e.Type, &e.By, &e.Request, &e.From, &e.Member); text != nil {
		return text, nil
	}
	return nil, fmt.Errorf("%w: more than %d bytes without its texts", bus.ErrTooLarge, bus.MaxAudit)
}

// fitting renders an event with some of its texts cut to the greatest length, as JSON, with which it fits; nil when it does with none. The
// event is left as it was.
func fitting(e *api.Audit, texts ...*string) (fits []byte) {
	whole := make([]string, len(texts))
	for i := range texts {
		whole[i] = *texts[i]
	}
	sort.Search(bus.MaxAudit, func(n int) bool {
		for i := range texts {
			*texts[i] = cutTo(whole[i], n)
		}
		text, err := encoded(*e)
		if err != nil || len(text) > bus.MaxAudit {
			return true
		}
		fits = text // the search comes to longer ones only
		return false
	})
	for i := range texts {
		*texts[i] = whole[i]
	}
	return fits
}

// encoded is JSON without the escapes that only texts within HTML need: they would take six bytes for one.
func encoded(value any) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), err
}

// cutTo shortens text until it takes n bytes at most between its quotes in JSON, or nothing of it is left but the ellipsis.
func cutTo(text string, n int) string {
	if width(text) <= n {
		return text
	}
	text = text[:min(len(text), bus.MaxAudit)] // no sign takes less than a byte
	tooLong := func(at int) bool { return width(cut(text, at)) > n }
	return cut(text, max(sort.Search(len(text), tooLong)-1, 0))
}

// width is how many bytes a text takes in JSON, without its quotes.
func width(text string) int {
	quoted, _ := encoded(text) // a string always can be
	return len(quoted) - len(`""`)
}

// cut shortens text to at most n bytes and an ellipsis, between characters; n is less than its length.
func cut(text string, n int) string {
	for back := 1; back < utf8.UTFMax && n > 0 && !utf8.RuneStart(text[n]); back++ { // what is no UTF-8 has no characters
		n--
	}
	return text[:n] + "…"
}
