package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"flotilla/core/api"
	"flotilla/subjects"

	"github.com/nats-io/nats.go/jetstream"
)

// renew makes the stream of state anew, with these records, by key and as JSON, and nothing else. A server takes no
// write any more that would replace a message which it cannot read, and loses those behind it when it reads its files
// anew, so a stream that was damaged once is not to be kept. Meanwhile the records are kept beside it: when this is
// broken off, whoever leads next goes on with it.
func (s *Store) renew(ctx context.Context, records map[string][]byte) error {
	if s.ledger.rescued != nil { // an earlier one was broken off, and nothing else may be left
		if err := s.refill(ctx, s.ledger.rescued); err != nil {
			return err
		}
	}
	if err := s.ledger.rescue(ctx, records, s.Writer.Term()); err != nil {
		return fmt.Errorf("keeping what is left: %w", err)
	}
	return s.refill(ctx, records)
}

// resume goes on with a renewal that was broken off.
func (s *Store) resume(ctx context.Context) error {
	records := s.ledger.rescued
	if records == nil {
		return nil
	}
	var before api.Term
	if err := json.Unmarshal(records[subjects.TermKey], &before); err != nil {
		return fmt.Errorf("the term that state was renewed in: %w", err)
	}
	s.Writer.raise(before)
	s.Term = s.Writer.Term()
	s.Conn.Log.Warn().Int("records", len(records)).Msg("making the stream of state anew was broken off: going on with it")
	return s.refill(ctx, records)
}

// refill empties the stream of state and writes records.
func (s *Store) refill(ctx context.Context, records map[string][]byte) error {
	if !s.Leads() {
		return fmt.Errorf("%w: the lease ran out", ErrDeposed)
	}
	if err := s.Writer.empty(ctx); err != nil {
		return fmt.Errorf("emptying the stream of state: %w", err)
	}
	var ops []Op
	for _, key := range slices.Sorted(maps.Keys(records)) {
		if counted(key) {
			ops = append(ops, Put(key, json.RawMessage(records[key]), 0))
		}
	}
	for _, batch := range batched(ops) {
		if _, err := s.Writer.Write(ctx, batch...); err != nil {
			return err
		}
	}
	s.Writer.takeFresh() // the ledger is begun anew
	if err := s.ledger.begin(ctx, s.State.mirror.all(), s.Writer.tally()); err != nil {
		return err
	}
	return s.ledger.forget(ctx)
}

// raise makes the term one that comes after another.
func (w *Writer) raise(before api.Term) {
	w.gate.Lock()
	defer w.gate.Unlock()
	w.term.Epoch = max(w.term.Epoch, before.Epoch)
	w.term.Term = max(w.term.Term, before.Term+1)
}

// empty removes all messages, none of which it reads, and begins with the term. What another leader writes meanwhile
// stays, and refuses the term.
func (w *Writer) empty(ctx context.Context) error {
	w.gate.Lock()
	defer w.gate.Unlock()
	asking, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	stream, err := w.conn.JS.Stream(asking, w.conn.Fleet.BucketStream(subjects.State))
	if err != nil {
		return err
	}
	on := standing{last: stream.CachedInfo().State.LastSeq}
	if err := stream.Purge(ctx, jetstream.WithPurgeSequence(on.last+1)); err != nil {
		return err
	}
	fence, err := writeTerm(ctx, w.conn, w.term, 0, on, publishTimeout)
	if err != nil {
		return err
	}
	w.fence, w.lost = fence, nil
	if err := w.state.Relist(ctx); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.chain.begin(fence, tally{})
	return nil
}

// rescue keeps records beside state, with the term. They count once the last thing, the head, is written.
func (l *ledger) rescue(ctx context.Context, records map[string][]byte, term api.Term) error {
	if err := l.forget(ctx); err != nil { // what one kept that was broken off
		return err
	}
	text, err := json.Marshal(term)
	if err != nil {
		return err
	}
	records = maps.Clone(records)
	records[subjects.TermKey] = text
	for key, value := range records {
		if _, err := l.store(ctx, subjects.RescuePrefix+key, value); err != nil {
			return err
		}
	}
	if _, err = l.write(ctx, subjects.RescueHead, &api.Census{Header: api.NewHeader(api.KindCensus), Pages: len(records)}); err == nil {
		l.rescued = records
	}
	return err
}

// forget removes what rescue kept, the head first.
func (l *ledger) forget(ctx context.Context) error {
	stream, err := l.conn.JS.Stream(ctx, l.conn.Fleet.BucketStream(subjects.Census))
	if err != nil {
		return err
	}
	for _, key := range []string{subjects.RescueHead, subjects.RescuePrefix + ">"} {
		if err := stream.Purge(ctx, jetstream.WithPurgeSubject(l.conn.Fleet.BucketSubject(subjects.Census, key))); err != nil {
			return err
		}
	}
	l.rescued = nil
	return nil
}

// rescuedOf are the records that rescue kept, with the term, nil where it did not come to its end.
func (l *ledger) rescuedOf(cells map[string]cell) (map[string][]byte, error) {
	var head api.Census
	if err := l.read(cells, subjects.RescueHead, &head); errors.Is(err, ErrNotFound) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	records := map[string][]byte{}
	for key, c := range cells {
		if of, found := strings.CutPrefix(key, subjects.RescuePrefix); found {
			value, err := recordBounds.unpack(c.value)
			if err != nil {
				return nil, fmt.Errorf("record %s, which was kept while state is renewed: %w", of, err)
			}
			records[of] = value
		}
	}
	if len(records) != head.Pages {
		return nil, fmt.Errorf("%d of %d records are there that were kept while state is renewed", len(records), head.Pages)
	}
	return records, nil
}
