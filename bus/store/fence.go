package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"flotilla/bus"
	"flotilla/bus/census"
	"flotilla/bus/loop"
	"flotilla/bus/watch"
	"flotilla/core/api"
	"flotilla/subjects"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// standing is where the stream of state stands: the sequence that it gave last, and what its newest message
// says of all records.
type standing struct {
	last  uint64
	tally census.Tally
	// uncounted is set when no message says it: somebody else wrote the newest one, or all are gone.
	uncounted bool
}

// readStanding asks the leader of the stream.
func readStanding(ctx context.Context, c *bus.Conn) (standing, error) {
	asking, cancel := context.WithTimeout(ctx, bus.AskTimeout)
	defer cancel()
	stream, err := c.JS.Stream(asking, c.Fleet.BucketStream(subjects.State))
	if err != nil {
		return standing{}, err
	}
	found := standing{last: stream.CachedInfo().State.LastSeq}
	newest, err := c.LastMessage(ctx, c.Fleet.BucketStream(subjects.State), c.Fleet.BucketSubject(subjects.State, ">"))
	if err != nil {
		return standing{}, err
	}
	if newest == nil {
		found.uncounted = found.last > 0
		return found, nil
	}
	found.last = max(found.last, newest.Sequence)
	var counted bool
	found.tally, counted = census.ParseTally(newest.Header.Get(bus.HeaderTally))
	found.uncounted = !counted
	return found, nil
}

// lastSaid is the sequence that a server refused a message with, because it is the last one, 0 for other errors.
func lastSaid(err error) (sequence uint64) {
	if refused, is := errors.AsType[*jetstream.APIError](err); is {
		_, _ = fmt.Sscanf(refused.Description, "wrong last sequence: %d", &sequence)
	}
	return sequence
}

// atLeast corrects the sequence of a stream that had to leave damaged messages out since it was started: it goes on to
// refuse by the number that it had given last, and tells another one who asks.
func (s standing) atLeast(said uint64) standing {
	s.last = max(s.last, said)
	return s
}

// mostBetween is how many writes that were in flight may come between one of the term and the look before it.
// A stream that refuses more often refuses what it says itself, as one does that cannot write any more.
const mostBetween = 16

// writeTerm stores a term record whose last sequence must be expected, on top of a standing that must not have
// changed, waiting at most limit, and returns its new one.
func writeTerm(ctx context.Context, c *bus.Conn, term api.Term, expected uint64, on standing, limit time.Duration) (uint64, error) {
	value, err := json.Marshal(term)
	if err != nil {
		return 0, err
	}
	m := nats.NewMsg(c.Fleet.BucketSubject(subjects.State, subjects.TermKey))
	m.Data = value
	bus.Expect(m, expected)
	bus.ExpectLast(m, on.last)
	if !on.uncounted {
		m.Header.Set(bus.HeaderTally, on.tally.String())
	}
	ack, err := c.PublishWithin(ctx, m, limit)
	if err != nil {
		return 0, err
	}
	return ack.Sequence, nil
}

// readTerm reads the term record from the leader of the stream; sequence 0 when there is none.
func readTerm(ctx context.Context, c *bus.Conn) (term api.Term, sequence uint64, err error) {
	m, err := c.LastMessage(ctx, c.Fleet.BucketStream(subjects.State), c.Fleet.BucketSubject(subjects.State, subjects.TermKey))
	if err != nil || m == nil {
		return term, 0, err
	}
	if err := json.Unmarshal(m.Data, &term); err != nil {
		return term, 0, fmt.Errorf("the term record: %w", err)
	}
	return term, m.Sequence, nil
}

// repair makes the writer able to go on after a message of a generation failed. Only one caller does it, the
// others wait. What was refused alone is numbered over; else nothing sent before may be stored any more, so
// the term is written anew, and the bucket listed again.
func (w *Writer) repair(ctx context.Context, generation int) error {
	w.gate.Lock()
	defer w.gate.Unlock()
	if w.lost != nil {
		return w.lost
	}
	w.mu.Lock()
	mended := w.chain.generation != generation || !w.chain.broken()
	explained := w.chain.explained()
	if !mended && explained {
		w.chain.resume()
	}
	w.mu.Unlock()
	if mended || explained {
		return nil
	}
	err := w.refenceInTime(ctx)
	if errors.Is(err, bus.ErrDeposed) || errors.Is(err, bus.ErrDamaged) {
		w.giveUp(err)
	}
	return err
}

// refenceInTime is refence for as long as somebody follows state: whoever waits for a listing after that waits for
// ever, and a hub that is to stop leading waits for them.
func (w *Writer) refenceInTime(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-w.over:
			cancel(fmt.Errorf("%w: the hub stopped leading before it knew whether a write was stored", bus.ErrDeposed))
		case <-ctx.Done():
		}
	}()
	err := w.refence(ctx)
	if cause := context.Cause(ctx); err != nil && errors.Is(cause, bus.ErrDeposed) {
		return cause
	}
	return err
}

// giveUp makes every later write fail at once; the gate is held.
func (w *Writer) giveUp(err error) {
	if w.lost == nil {
		w.lost = err
		w.lose(err)
	}
}

// close makes every later write fail, and returns once none is under way.
func (w *Writer) close() {
	w.gate.Lock()
	defer w.gate.Unlock()
	if w.lost == nil {
		w.lost = fmt.Errorf("%w: it has stopped leading", bus.ErrDeposed)
	}
}

// refence writes the term anew, which fences whatever is in flight, and lists; the gate is held.
func (w *Writer) refence(ctx context.Context) error {
	w.conn.Log.Warn().Uint64("term", w.term.Term).Msg("a write has no known outcome: writing the term anew and listing")
	between, said, patience := 0, uint64(0), watch.NewPatience()
	retry := loop.Backoff{Most: watch.WaitedFor}
	for {
		trying, cancel := patience.Within(ctx)
		on, fence, err := w.rewriteTerm(trying, said, patience.Now)
		cancel()
		patience.Learn(err)
		if err == nil {
			w.fence = fence
			return w.listAnew(ctx, on)
		}
		if errors.Is(err, bus.ErrDeposed) {
			return err
		}
		if w.conn.NC.IsClosed() {
			return fmt.Errorf("writing the term anew: %w", nats.ErrConnectionClosed)
		}
		said = lastSaid(err)
		if between++; outcomeOf(err) != mismatched || between > mostBetween {
			w.conn.Log.Warn().Err(err).Msg("writing the term anew, trying again")
			retry.Wait(ctx)
		}
		if ctx.Err() != nil {
			return fmt.Errorf("writing the term anew: %w", ctx.Err())
		}
	}
}

// rewriteTerm stores the term once more on top of whatever was stored last, provided it is still ours; said is
// what a try before was refused with, limit how long the server may take.
func (w *Writer) rewriteTerm(ctx context.Context, said uint64, limit time.Duration) (on standing, fence uint64, err error) {
	if on, err = readStanding(ctx, w.conn); err != nil {
		return on, 0, err
	}
	found, sequence, err := readTerm(ctx, w.conn)
	if err != nil {
		return on, 0, err
	}
	if found.Term != w.term.Term || found.Holder != w.term.Holder {
		return on, 0, fmt.Errorf("%w: term %d of %s", bus.ErrDeposed, found.Term, found.Holder)
	}
	on = on.atLeast(said)
	fence, err = writeTerm(ctx, w.conn, w.term, sequence, on, limit)
	return on, fence, err
}

// listAnew lists after the term was written on a standing, and numbers from there; the gate is held.
func (w *Writer) listAnew(ctx context.Context, on standing) error {
	if err := w.state.Relist(ctx); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.chain.confirm(on.last)
	fresh := w.chain.fresh
	live := census.TallyOf(w.state.mirror.All())
	switch {
	case on.uncounted:
		w.conn.Log.Warn().Msg("somebody else wrote to state: counting it anew")
		on.tally = live
	case !live.Same(on.tally):
		return miscounted(on.tally, live)
	}
	w.chain.begin(w.fence, on.tally)
	w.chain.fresh = fresh
	w.confirmed()
	return nil
}

// resolve answers a write of unknown outcome by what is stored now.
func (w *Writer) resolve(out *write) error {
	for i, op := range out.ops {
		c, ok := w.state.mirror.Get(op.Key)
		if out.values[i] == nil {
			if ok {
				return w.vanished(out)
			}
			continue
		}
		if !ok || c.Sequence <= op.Revision || !bytes.Equal(c.Value, out.values[i]) {
			return w.vanished(out)
		}
		out.revisions[i] = c.Sequence
	}
	return nil
}

func (w *Writer) vanished(out *write) error {
	return fmt.Errorf("writing %s: %w: the server did not answer, and nothing was stored", out.ops[0].Key, bus.ErrConflict)
}

// Bounds of what an agent may claim to hold. Both numbers grow with takeovers and with the clock alone;
// beyond the bounds a claim is false, and following it would use the numbers up for everyone.
const (
	termAhead  = 10 * 365 * 24 * time.Hour
	epochAhead = 1000
	// lastGeneration is far above what one term can number and far below where numbers end.
	lastGeneration = 1 << 62
)

// Credible says whether a hub of the store's term can have given out an order. Terms are numbered by the
// machine's clock.
func (s *Store) Credible(held api.Order) bool { return credible(held, s.Term, time.Now()) }

// credible says whether a hub of that term can have given out an order, at now.
func credible(held api.Order, recorded api.Term, now time.Time) bool {
	return held.Epoch <= max(recorded.Epoch, 1)+epochAhead && held.Term <= uint64(now.Add(termAhead).Unix()) &&
		held.Generation <= lastGeneration
}

// newTerm is the term of a leader that takes over, since a time of its process's clock: above everything
// recorded anywhere. Where members hold orders of a term that is not recorded, state is older than they are: a new
// epoch tells its versions from those that were given out before.
func newTerm(recorded api.Term, held api.Order, holder string, since time.Time) api.Term {
	t := api.Term{
		Header: api.NewHeader(api.KindTerm),
		Epoch:  max(recorded.Epoch, held.Epoch, 1),
		Term:   max(recorded.Term+1, held.Term+1, uint64(time.Now().Unix())),
		Holder: holder,
	}
	if recorded.Term > 0 && (held.Epoch > recorded.Epoch || held.Term > recorded.Term) {
		t.Epoch++
	}
	t.Since.Time = since.UTC().Truncate(time.Second)
	return t
}
