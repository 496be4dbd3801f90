package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"flotilla/bus"
	"flotilla/bus/acks"
	"flotilla/bus/loop"
	"flotilla/bus/watch"
	"flotilla/core/api"
	"flotilla/subjects"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Op is one change of one record.
type Op struct {
	Key string
	// Value is written as JSON; a json.RawMessage as it is. Nil deletes.
	Value any
	// Revision is what the record must still have: 0 means that it must not exist.
	Revision uint64
	// Note is kept with the marker of a deleted record, see State.Gone: at most some hundred bytes, one line.
	Note string
	// shared is Value where tables may take it as it is.
	shared any
	// holds says that the record only has to have the revision.
	holds bool
}

// Put changes or (revision 0) creates a record.
func Put(key string, value any, revision uint64) Op {
	return Op{Key: key, Value: value, Revision: revision}
}

// Holds changes nothing: what is written together with it is stored only while a record has a revision, 0 while there is none.
func Holds(key string, revision uint64) Op { return Op{Key: key, Revision: revision, holds: true} }

// changes are those among ops.
func changes(ops []Op) []Op {
	if !slices.ContainsFunc(ops, func(op Op) bool { return op.holds }) {
		return ops
	}
	return slices.DeleteFunc(slices.Clone(ops), func(op Op) bool { return op.holds })
}

// Delete removes a record; its marker is kept for 24 h.
func Delete(key string, revision uint64) Op { return Op{Key: key, Revision: revision} }

// maxOps is the largest number of records that change at once: the server takes 1,000 messages, one of which
// may be for the tally.
const maxOps = 999

// tombstoneTTL is how long markers of deleted records are kept.
const tombstoneTTL = "24h"

// Writer changes records of bucket state, for the leader alone. The revision of a record is checked in
// this process, which sees every write of this term; the server checks that the term is still ours, and that
// no message was stored but those that this writer knows of. A writer of a past term is therefore refused,
// whatever it believes, and each message carries the tally of all records, see chain.
type Writer struct {
	conn     *bus.Conn
	state    *State
	replicas int
	acks     *acks.Acks
	hooks

	// gate is held shared by writes and alone while the term is written anew.
	gate  sync.RWMutex
	term  api.Term
	fence uint64 // sequence of the term record
	lost  error  // set once another hub leads, or state is damaged

	mu      sync.Mutex
	writing map[string]struct{} // keys whose write is not settled
	holding map[string]int      // by key: how many writes that are not settled only need it as it is
	queue   []*write            // waiting to go out in one batch
	chain   chain

	flight sync.Mutex // held while a batch is out
}

// hooks are what others have a writer do.
type hooks struct {
	// confirmed is called, not to block, when writes are known to be stored; lose once, with why nothing will be
	// written any more.
	confirmed func()
	lose      func(error)
	// noted waits until the ledger holds the write with a sequence, where it is not acknowledged before.
	noted func(ctx context.Context, sequence uint64)
	// over is closed once nobody follows state for this writer any more; nil: never.
	over <-chan struct{}
}

// write is one call of Write on its way.
type write struct {
	ops       []Op
	values    [][]byte // stored form; nil deletes
	weights   []int64  // of what is shared
	revisions []uint64
	done      bool
	err       error
}

// newWriter returns a writer under a term. replicas is that of the stream: with one, single records are
// written side by side; else all writes go in batches, one at a time.
func newWriter(state *State, taken Taken, replicas int) (*Writer, error) {
	answers, err := acks.New(state.conn)
	if err != nil {
		return nil, err
	}
	w := &Writer{
		conn: state.conn, state: state, replicas: replicas, acks: answers,
		hooks: hooks{confirmed: func() {}, lose: func(error) {}, noted: func(context.Context, uint64) {}},
		term:  taken.Term, fence: taken.fence, writing: map[string]struct{}{}, holding: map[string]int{},
	}
	w.chain.begin(taken.fence, taken.on.tally)
	return w, nil
}

// Term is the term this writer is fenced by.
func (w *Writer) Term() api.Term { return w.term }

// Write stores all ops or none, and returns the new revisions of those that change something, in order. The cache of State holds
// them when it returns. Errors: ErrConflict when a revision is not current, ErrTooLarge, ErrDeposed.
// After an outcome that nobody knows it writes the term anew, which fences what is in flight, lists
// again, and answers by what is stored.
func (w *Writer) Write(ctx context.Context, ops ...Op) ([]uint64, error) {
	changed := changes(ops)
	if len(changed) == 0 {
		return nil, nil
	}
	out, err := prepare(changed)
	if err != nil {
		return nil, err
	}
	ops = while(ctx, ops)
	if err := w.claim(ops); err != nil {
		return nil, err
	}
	defer w.settle(ops)
	defer w.state.share(out)()
	if err := w.deliver(ctx, out); err != nil {
		return nil, err
	}
	w.noted(ctx, slices.Max(out.revisions))
	return out.revisions, nil
}

// deliverTries bounds how often a write goes out that the server did not store because of another one.
const deliverTries = 20

// deliver sends a write until its outcome is known. One that could not be stored because of another is sent
// again, behind what is stored.
func (w *Writer) deliver(ctx context.Context, out *write) error {
	for try := 1; ; try++ {
		generation, err := w.send(ctx, out)
		if err == nil || errors.Is(err, bus.ErrDeposed) || errors.Is(err, bus.ErrDamaged) {
			return err
		}
		again := false
		switch o := outcomeOf(err); {
		case o == mismatched, o == busy, errors.Is(err, errBroken):
			again = true
		case errors.Is(err, jetstream.ErrNoStreamResponse) && try <= noStreamTries:
			loop.Pause(ctx, noStreamWait)
			again = true
		case o == refused:
			return err
		}
		if repaired := w.repair(ctx, generation); repaired != nil {
			return fmt.Errorf("writing %s: %w", out.ops[0].Key, repaired)
		}
		switch {
		case !again:
			return w.resolve(out)
		case try == deliverTries || ctx.Err() != nil:
			return err
		}
	}
}

// A server that is there and has no stream yet is asked again.
const (
	noStreamTries = 2
	noStreamWait  = 250 * time.Millisecond
)

// prepare renders and measures the values.
func prepare(ops []Op) (*write, error) {
	if len(ops) > maxOps {
		return nil, fmt.Errorf("%w: %d records at once, at most %d", bus.ErrTooLarge, len(ops), maxOps)
	}
	out := &write{ops: ops, values: make([][]byte, len(ops)), weights: make([]int64, len(ops)), revisions: make([]uint64, len(ops))}
	for i := range ops {
		var err error
		if out.values[i], out.weights[i], err = packed(&ops[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Check refuses operations that cannot be stored: the error is that of Write, ErrTooLarge.
func Check(ops ...Op) error {
	for i := range ops {
		if _, _, err := packed(&ops[i]); err != nil {
			return err
		}
	}
	return nil
}

// packed is what an operation stores, nil where it deletes, and how much memory that takes where tables take its value as it is.
func packed(op *Op) (out []byte, weight int64, err error) {
	if op.Value == nil {
		return nil, 0, nil
	}
	value, err := encode(op.Value)
	if err != nil {
		return nil, 0, fmt.Errorf("record %s: %w", op.Key, err)
	}
	if op.shared != nil {
		weight = watch.Weigh(op.Key, value)
	}
	if out, err = bus.RecordBounds.Pack(value); err != nil {
		return nil, 0, fmt.Errorf("record %s: %w", op.Key, err)
	}
	if len(out) > bus.MaxValue {
		return nil, 0, fmt.Errorf("record %s: %w: %d bytes, %d compressed, at most %d", op.Key, bus.ErrTooLarge, len(value), len(out), bus.MaxValue)
	}
	return out, weight, nil
}

// encode renders a value as JSON. What a record makes of itself is not looked over once more: all do so by package json.
func encode(value any) ([]byte, error) {
	if m, own := value.(json.Marshaler); own {
		return m.MarshalJSON()
	}
	return json.Marshal(value)
}

// claim checks the revisions and keeps others from writing the same records until settle.
func (w *Writer) claim(ops []Op) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	claimed := make(map[string]bool, len(ops)) // whether it changes
	for _, op := range ops {
		_, taken := w.writing[op.Key]
		_, twice := claimed[op.Key]
		current := w.state.Revision(op.Key)
		switch {
		case twice:
			return fmt.Errorf("record %s is written twice in one call", op.Key)
		case taken, !op.holds && w.holding[op.Key] > 0:
			return fmt.Errorf("record %s: %w: another write of it is under way", op.Key, bus.ErrConflict)
		case current != op.Revision:
			return fmt.Errorf("record %s: %w: it is at revision %d, expected %d", op.Key, bus.ErrConflict, current, op.Revision)
		}
		claimed[op.Key] = !op.holds
	}
	for key, changes := range claimed {
		if changes {
			w.writing[key] = struct{}{}
		} else {
			w.holding[key]++
		}
	}
	return nil
}

func (w *Writer) settle(ops []Op) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, op := range ops {
		if !op.holds {
			delete(w.writing, op.Key)
		} else if w.holding[op.Key]--; w.holding[op.Key] == 0 {
			delete(w.holding, op.Key)
		}
	}
}

// send publishes a write and enters it into the cache when it was stored. It returns the generation that it
// was numbered in.
func (w *Writer) send(ctx context.Context, out *write) (generation int, err error) {
	w.gate.RLock()
	defer w.gate.RUnlock()
	w.mu.Lock()
	generation, broken := w.chain.generation, w.chain.broken()
	w.mu.Unlock()
	switch {
	case w.lost != nil:
		return generation, w.lost
	case broken:
		return generation, fmt.Errorf("writing %s: %w", out.ops[0].Key, errBroken)
	case w.replicas <= 1 && len(out.ops) == 1:
		return generation, w.sendOne(ctx, out)
	}
	return generation, w.sendShared(ctx, out)
}

// sendOne publishes one record, beside others that are under way.
func (w *Writer) sendOne(ctx context.Context, out *write) error {
	ctx, cancel := w.conn.Answerable(ctx, bus.PublishTimeout)
	defer cancel()
	messages := w.messages(out)
	w.guard(messages[0])
	under, err := w.launch(messages, out)
	if err != nil {
		return explain(err, out)
	}
	var first error
	for i, answer := range under {
		ack, err := answer.Wait(ctx)
		switch {
		case err != nil:
			w.failed(err)
			if i == 0 {
				first = explain(err, out)
			}
		case i == 0:
			w.stored(out, ack.Sequence)
		default:
			w.confirm(ack.Sequence)
		}
	}
	return first
}

// launch numbers the messages of writes and sends them, without others between. An error says that none was
// sent.
func (w *Writer) launch(messages []*nats.Msg, writes ...*write) (under []*acks.Awaited, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.chain.broken() {
		return nil, errBroken
	}
	w.chain.numberAll(messages, writes)
	for i, m := range messages {
		sent, err := w.acks.Send(m)
		if err != nil {
			w.chain.unsend(len(messages) - i)
			if i == 0 {
				return nil, err
			}
			break
		}
		under = append(under, sent)
	}
	return under, nil
}

// numberAll numbers the messages of writes, in their order.
func (c *chain) numberAll(messages []*nats.Msg, writes []*write) {
	at := 0
	for _, out := range writes {
		for i, op := range out.ops {
			c.number(messages[at], op.Key, op.Revision, out.values[i] == nil)
			at++
		}
	}
	for _, m := range messages[at:] {
		c.number(m, subjects.TallyKey, 0, false)
	}
}

// failed notes that a message was not stored, or may not have been.
func (w *Writer) failed(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.chain.fail(outcomeOf(err))
}

func (w *Writer) confirm(sequence uint64) {
	w.mu.Lock()
	news := w.chain.confirm(sequence)
	w.mu.Unlock()
	if news {
		w.confirmed()
	}
}

// messages are those of writes, and one more where the last is a deletion: its marker goes in a day, and the
// newest message is to carry the tally for ever.
func (w *Writer) messages(writes ...*write) []*nats.Msg {
	var messages []*nats.Msg
	last := false
	for _, out := range writes {
		for i, op := range out.ops {
			messages = append(messages, w.message(op, out.values[i]))
			last = out.values[i] == nil
		}
	}
	if last {
		m := nats.NewMsg(w.conn.Fleet.BucketSubject(subjects.State, subjects.TallyKey))
		m.Data = []byte("{}")
		messages = append(messages, m)
	}
	return messages
}

func (w *Writer) message(op Op, value []byte) *nats.Msg {
	m := nats.NewMsg(w.conn.Fleet.BucketSubject(subjects.State, op.Key))
	m.Data = value
	if value == nil {
		m.Header.Set(bus.HeaderOperation, bus.OperationDelete)
		m.Header.Set(bus.HeaderTTL, tombstoneTTL)
		if op.Note != "" {
			m.Header.Set(bus.HeaderNote, op.Note)
		}
	}
	return m
}

func (w *Writer) termSubject() string {
	return w.conn.Fleet.BucketSubject(subjects.State, subjects.TermKey)
}

// stored enters a write into the cache; last is the sequence of its last record.
func (w *Writer) stored(out *write, last uint64) {
	w.confirm(last)
	first := last + 1 - uint64(len(out.ops))
	for i, op := range out.ops {
		out.revisions[i] = first + uint64(i)
		w.state.written(watch.Message{Key: op.Key, Value: out.values[i], Sequence: out.revisions[i], Note: op.Note})
	}
}

// explain names the records in an error; an outcome that is unknown stays recognisable.
func explain(err error, out *write) error { return fmt.Errorf("writing %s: %w", out.ops[0].Key, err) }
