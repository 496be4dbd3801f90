package bus

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"flotilla/core/api"
	"flotilla/subjects"

	"github.com/nats-io/nats.go"
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
}

// Put changes or (revision 0) creates a record.
func Put(key string, value any, revision uint64) Op {
	return Op{Key: key, Value: value, Revision: revision}
}

// Delete removes a record; its marker is kept for 24 h.
func Delete(key string, revision uint64) Op { return Op{Key: key, Revision: revision} }

// maxOps is the largest number of records that change at once; the server takes no larger batch.
const maxOps = 1000

// headerNote carries the note of a marker.
const headerNote = "Flotilla-Note"

// tombstoneTTL is how long markers of deleted records are kept.
const tombstoneTTL = "24h"

// Writer changes records of bucket state, for the leader alone. The revision of a record is checked in
// this process, which sees every write of this term; the server checks that the term is still ours,
// because it checks one sequence per message only. A writer of a past term is therefore refused,
// whatever it believes.
type Writer struct {
	conn     *Conn
	state    *State
	replicas int

	// gate is held shared by writes and alone while the term is written anew.
	gate  sync.RWMutex
	term  api.Term
	fence uint64 // sequence of the term record
	lost  error  // set once another hub leads

	mu      sync.Mutex
	writing map[string]struct{} // keys whose write is not settled
	queue   []*write            // waiting to go out in one batch

	flight sync.Mutex // held while a batch is out
}

// write is one call of Write on its way.
type write struct {
	ops       []Op
	values    [][]byte // stored form; nil deletes
	revisions []uint64
	done      bool
	err       error
}

// NewWriter returns a writer under a term whose record has the sequence fence. replicas is that of the
// stream: with one, single records are written side by side; else all writes go in batches, one at a time.
func NewWriter(state *State, term api.Term, fence uint64, replicas int) *Writer {
	return &Writer{
		conn: state.conn, state: state, replicas: replicas,
		term: term, fence: fence, writing: map[string]struct{}{},
	}
}

// Term is the term this writer is fenced by.
func (w *Writer) Term() api.Term { return w.term }

// Write stores all ops or none, and returns their new revisions in order. The cache of State holds
// them when it returns. Errors: ErrConflict when a revision is not current, ErrTooLarge, ErrDeposed.
// After an outcome that nobody knows it writes the term anew, which fences what is in flight, lists
// again, and answers by what is stored.
func (w *Writer) Write(ctx context.Context, ops ...Op) ([]uint64, error) {
	if len(ops) == 0 {
		return nil, nil
	}
	out, err := prepare(ops)
	if err != nil {
		return nil, err
	}
	if err := w.claim(ops); err != nil {
		return nil, err
	}
	defer w.settle(ops)
	fence, err := w.send(ctx, out)
	if outcomeOf(err) == unknown {
		if err = w.refence(ctx, fence); err == nil {
			err = w.resolve(out)
		}
	}
	if errors.Is(err, ErrDeposed) {
		w.depose(err)
	}
	if err != nil {
		return nil, err
	}
	return out.revisions, nil
}

// depose makes every later write fail at once.
func (w *Writer) depose(err error) {
	w.gate.Lock()
	defer w.gate.Unlock()
	w.lost = err
}

// prepare renders and measures the values.
func prepare(ops []Op) (*write, error) {
	if len(ops) > maxOps {
		return nil, fmt.Errorf("%w: %d records at once, at most %d", ErrTooLarge, len(ops), maxOps)
	}
	out := &write{ops: ops, values: make([][]byte, len(ops)), revisions: make([]uint64, len(ops))}
	for i, op := range ops {
		if op.Value == nil {
			continue
		}
		value, err := encode(op.Value)
		if err != nil {
			return nil, fmt.Errorf("record %s: %w", op.Key, err)
		}
		if out.values[i], err = recordBounds.pack(value); err != nil {
			return nil, fmt.Errorf("record %s: %w", op.Key, err)
		}
		if n := len(out.values[i]); n > MaxValue {
			return nil, fmt.Errorf("record %s: %w: %d bytes, %d compressed, at most %d", op.Key, ErrTooLarge, len(value), n, MaxValue)
		}
	}
	return out, nil
}

// claim checks the revisions and keeps others from writing the same records until settle.
func (w *Writer) claim(ops []Op) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	claimed := make(map[string]struct{}, len(ops))
	for _, op := range ops {
		_, taken := w.writing[op.Key]
		_, twice := claimed[op.Key]
		current := w.state.Revision(op.Key)
		switch {
		case twice:
			return fmt.Errorf("record %s is written twice in one call", op.Key)
		case taken:
			return fmt.Errorf("record %s: %w: another write of it is under way", op.Key, ErrConflict)
		case current != op.Revision:
			return fmt.Errorf("record %s: %w: it is at revision %d, expected %d", op.Key, ErrConflict, current, op.Revision)
		}
		claimed[op.Key] = struct{}{}
	}
	for key := range claimed {
		w.writing[key] = struct{}{}
	}
	return nil
}

func (w *Writer) settle(ops []Op) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, op := range ops {
		delete(w.writing, op.Key)
	}
}

// send publishes a write and enters it into the cache when it was stored. It returns the fence that
// it was sent under.
func (w *Writer) send(ctx context.Context, out *write) (uint64, error) {
	w.gate.RLock()
	defer w.gate.RUnlock()
	if w.lost != nil {
		return w.fence, w.lost
	}
	if w.replicas <= 1 && len(out.ops) == 1 {
		return w.fence, w.sendOne(ctx, out)
	}
	return w.fence, w.sendShared(ctx, out)
}

func (w *Writer) sendOne(ctx context.Context, out *write) error {
	m := w.message(out.ops[0], out.values[0])
	expectOf(m, w.termSubject(), w.fence)
	ack, err := w.conn.publish(ctx, m)
	if err != nil {
		return w.explain(err, out)
	}
	w.stored(out, ack.Sequence)
	return nil
}

func (w *Writer) message(op Op, value []byte) *nats.Msg {
	m := nats.NewMsg(w.conn.Fleet.BucketSubject(subjects.State, op.Key))
	m.Data = value
	if value == nil {
		m.Header.Set(headerOperation, operationDelete)
		m.Header.Set(headerTTL, tombstoneTTL)
		if op.Note != "" {
			m.Header.Set(headerNote, op.Note)
		}
	}
	return m
}

func (w *Writer) termSubject() string {
	return w.conn.Fleet.BucketSubject(subjects.State, subjects.TermKey)
}

// stored enters a write into the cache; last is the sequence of its last record.
func (w *Writer) stored(out *write, last uint64) {
	first := last + 1 - uint64(len(out.ops))
	for i, op := range out.ops {
		out.revisions[i] = first + uint64(i)
		w.state.written(message{key: op.Key, value: out.values[i], sequence: out.revisions[i], note: op.Note})
	}
}

// explain names the records in an error; an outcome that is unknown stays recognisable.
func (w *Writer) explain(err error, out *write) error {
	if outcomeOf(err) == mismatched {
		return fmt.Errorf("writing %s: %w", out.ops[0].Key, ErrDeposed)
	}
	return fmt.Errorf("writing %s: %w", out.ops[0].Key, err)
}
