package bus

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"flotilla/core/api"
	"flotilla/subjects"

	"github.com/nats-io/nats.go"
)

// writeTerm stores a term record whose last sequence must be expected, and returns its new one.
func writeTerm(ctx context.Context, c *Conn, term api.Term, expected uint64) (uint64, error) {
	value, err := json.Marshal(term)
	if err != nil {
		return 0, err
	}
	m := nats.NewMsg(c.Fleet.BucketSubject(subjects.State, subjects.TermKey))
	m.Data = value
	expect(m, expected)
	ack, err := c.publish(ctx, m)
	if err != nil {
		return 0, err
	}
	return ack.Sequence, nil
}

// readTerm reads the term record from the leader of the stream; sequence 0 when there is none.
func readTerm(ctx context.Context, c *Conn) (term api.Term, sequence uint64, err error) {
	m, err := c.last(ctx, c.Fleet.BucketStream(subjects.State), c.Fleet.BucketSubject(subjects.State, subjects.TermKey))
	if err != nil || m == nil {
		return term, 0, err
	}
	if err := json.Unmarshal(m.Data, &term); err != nil {
		return term, 0, fmt.Errorf("the term record: %w", err)
	}
	return term, m.Sequence, nil
}

// refence makes sure that nothing sent under the fence sent can be stored any more, by writing the
// same term anew, and lists the bucket again. Only one caller does it, the others wait.
func (w *Writer) refence(ctx context.Context, sent uint64) error {
	w.gate.Lock()
	defer w.gate.Unlock()
	if w.lost != nil {
		return w.lost
	}
	if w.fence != sent {
		return nil
	}
	w.conn.Log.Warn().Uint64("term", w.term.Term).Msg("a write has no known outcome: writing the term anew and listing")
	for delay := firstRetry; ; delay = min(2*delay, lastRetry) {
		fence, err := w.rewriteTerm(ctx)
		if err == nil {
			w.fence = fence
			return w.state.Relist(ctx)
		}
		if errors.Is(err, ErrDeposed) {
			w.lost = err
			return err
		}
		if w.conn.NC.IsClosed() {
			return fmt.Errorf("writing the term anew: %w", nats.ErrConnectionClosed)
		}
		w.conn.Log.Warn().Err(err).Msg("writing the term anew, trying again")
		pause(ctx, delay)
		if ctx.Err() != nil {
			return fmt.Errorf("writing the term anew: %w", ctx.Err())
		}
	}
}

// rewriteTerm stores the term once more on top of whatever we stored last, provided it is still ours.
func (w *Writer) rewriteTerm(ctx context.Context) (uint64, error) {
	found, sequence, err := readTerm(ctx, w.conn)
	if err != nil {
		return 0, err
	}
	if found.Term != w.term.Term || found.Holder != w.term.Holder {
		return 0, fmt.Errorf("%w: term %d of %s", ErrDeposed, found.Term, found.Holder)
	}
	return writeTerm(ctx, w.conn, w.term, sequence)
}

// resolve answers a write of unknown outcome by what is stored now.
func (w *Writer) resolve(out *write) error {
	for i, op := range out.ops {
		c, ok := w.state.mirror.get(op.Key)
		if out.values[i] == nil {
			if ok {
				return w.vanished(out)
			}
			continue
		}
		if !ok || c.sequence <= op.Revision || !bytes.Equal(c.value, out.values[i]) {
			return w.vanished(out)
		}
		out.revisions[i] = c.sequence
	}
	return nil
}

func (w *Writer) vanished(out *write) error {
	return fmt.Errorf("writing %s: %w: the server did not answer, and nothing was stored", out.ops[0].Key, ErrConflict)
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
// recorded anywhere.
func newTerm(recorded api.Term, held api.Order, holder string, since time.Time) api.Term {
	t := api.Term{
		Header: api.NewHeader(api.KindTerm),
		Epoch:  max(recorded.Epoch, held.Epoch, 1),
		Term:   max(recorded.Term+1, held.Term+1, uint64(time.Now().Unix())),
		Holder: holder,
	}
	t.Since.Time = since.UTC().Truncate(time.Second)
	return t
}
