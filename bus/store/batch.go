package store

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"flotilla/bus"
	"flotilla/bus/acks"
	"flotilla/bus/loop"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
)

const (
	busyWait  = 10 * time.Millisecond
	busyTries = 200
	// maxBatchBytes keeps what shares a batch small enough for the server to take in one go.
	maxBatchBytes = 16 << 20
)

// A batch of state fits into what a server keeps waiting, with more writes behind it.
const _ = uint(bus.MaxBuffered - maxBatchBytes - 4*bus.MaxValue)

// sendShared puts a write into the queue and sees to it that the queue goes out. Whoever comes while a
// batch is out shares the next one: an atomic batch costs the same whatever its size.
func (w *Writer) sendShared(ctx context.Context, out *write) error {
	out.done, out.err = false, nil // it may have been out before
	w.mu.Lock()
	w.queue = append(w.queue, out)
	w.mu.Unlock()
	w.flight.Lock()
	defer w.flight.Unlock()
	for !out.done {
		w.sendBatch(ctx, w.takeQueue())
	}
	return out.err
}

// takeQueue removes from the queue what fits into one batch, at least one write.
func (w *Writer) takeQueue() []*write {
	w.mu.Lock()
	defer w.mu.Unlock()
	ops, size, n := 0, 0, 0
	for _, out := range w.queue {
		ops += len(out.ops)
		for _, value := range out.values {
			size += len(value)
		}
		if n > 0 && (ops > maxOps || size > maxBatchBytes) {
			break
		}
		n++
	}
	taken := w.queue[:n:n]
	w.queue = w.queue[n:]
	return taken
}

// sendBatch publishes writes as one atomic batch: all are stored or none, and all share the outcome.
func (w *Writer) sendBatch(ctx context.Context, writes []*write) {
	messages := w.messages(writes...)
	ack, err := w.publishBatch(ctx, messages, writes)
	var last uint64
	if err == nil {
		last = ack.Sequence - uint64(len(messages))
	}
	for _, out := range writes {
		out.done = true
		if err != nil {
			out.err = explain(err, out)
			continue
		}
		last += uint64(len(out.ops))
		w.stored(out, last)
	}
	if err == nil {
		w.confirm(ack.Sequence)
	}
}

// publishBatch sends the messages under one batch id, the fence on the first; the acknowledgement is
// that of the last, which commits. A server that is busy with another expectation is asked again.
func (w *Writer) publishBatch(ctx context.Context, messages []*nats.Msg, writes []*write) (ack *jetstream.PubAck, err error) {
	ctx, cancel := w.conn.Answerable(ctx, bus.PublishTimeout)
	defer cancel()
	w.guard(messages[0])
	for try := range busyTries {
		commit, err := w.launchBatch(messages, writes, try == 0)
		if err != nil {
			return nil, err
		}
		if ack, err = commit.Wait(ctx); err == nil {
			return ack, nil
		}
		if outcomeOf(err) != busy || try == busyTries-1 {
			w.failed(err)
			return nil, err
		}
		loop.Pause(ctx, busyWait)
	}
	return nil, errBroken
}

// launchBatch sends the messages of a batch, without others between, and returns the one that commits. They
// are numbered once.
func (w *Writer) launchBatch(messages []*nats.Msg, writes []*write, first bool) (*acks.Awaited, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.chain.broken() {
		return nil, errBroken
	}
	if first {
		w.chain.numberAll(messages, writes)
		for _, m := range messages[1:] {
			m.Header.Del(bus.HeaderExpectedLast) // of a batch the first one alone may expect it
		}
	}
	if len(messages) > 1 {
		number(messages)
	}
	last := len(messages) - 1
	for _, m := range messages[:last] {
		if err := w.conn.NC.PublishMsg(m); err != nil {
			w.chain.unsend(len(messages))
			return nil, fmt.Errorf("%w: %w", acks.ErrUnsent, w.conn.TooLarge(m, err))
		}
	}
	commit, err := w.acks.Send(messages[last])
	if err != nil {
		w.chain.unsend(len(messages))
	}
	return commit, err
}

// number gives the messages the headers of a new batch (NATS ADR-50).
func number(messages []*nats.Msg) {
	id := nuid.Next()
	for i, m := range messages {
		m.Header.Set(bus.HeaderBatchID, id)
		m.Header.Set(bus.HeaderBatchSequence, strconv.Itoa(i+1))
	}
	messages[len(messages)-1].Header.Set(bus.HeaderBatchCommit, "1")
}
