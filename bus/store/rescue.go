package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"flotilla/bus"
	"flotilla/bus/census"
	"flotilla/bus/watch"
	"flotilla/core/api"
	"flotilla/subjects"

	"github.com/nats-io/nats.go/jetstream"
)

// rescued is what a stream of state that is made anew begins with.
type rescued struct {
	records map[string][]byte // by key, as JSON
	notes   map[string]string // of records that were deleted, by key
}

// renewed are records with the notes of those that were deleted, as far as they can be read: whether a record was
// deleted or is lost makes a difference to who looks for it.
func (s *Store) renewed(records map[string][]byte) *rescued {
	kept := &rescued{records: records, notes: map[string]string{}}
	for key, c := range s.State.mirror.All() {
		if _, there := records[key]; !there && c.Deleted && c.Note != "" {
			kept.notes[key] = c.Note
		}
	}
	return kept
}

// renew makes the stream of state anew, with these records and notes, and nothing else. A server takes no write any
// more that would replace a message which it cannot read, and loses those behind it when it reads its files
// anew, so a stream that was damaged once is not to be kept. Meanwhile the records are kept beside it: when this is
// broken off, whoever leads next goes on with it.
func (s *Store) renew(ctx context.Context, records *rescued) error {
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
	if err := json.Unmarshal(records.records[subjects.TermKey], &before); err != nil {
		return fmt.Errorf("the term that state was renewed in: %w", err)
	}
	s.Writer.raise(before)
	s.Term = s.Writer.Term()
	s.Conn.Log.Warn().Int("records", len(records.records)).Msg("making the stream of state anew was broken off: going on with it")
	return s.refill(ctx, records)
}

// refill empties the stream of state and writes records and notes.
func (s *Store) refill(ctx context.Context, kept *rescued) error {
	if !s.Leads() {
		return fmt.Errorf("%w: the lease ran out", bus.ErrDeposed)
	}
	if err := s.Writer.empty(ctx); err != nil {
		return fmt.Errorf("emptying the stream of state: %w", err)
	}
	var ops []Op
	for _, key := range slices.Sorted(maps.Keys(kept.records)) {
		if census.Counted(key) {
			ops = append(ops, Put(key, json.RawMessage(kept.records[key]), 0))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(kept.notes)) {
		ops = append(ops, Op{Key: key, Note: kept.notes[key]})
	}
	for _, batch := range batched(ops) {
		if _, err := s.Writer.Write(ctx, batch...); err != nil {
			return err
		}
	}
	s.Writer.takeFresh() // the ledger is begun anew
	if err := s.ledger.begin(ctx, s.State.mirror.All(), s.Writer.tally()); err != nil {
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
	asking, cancel := context.WithTimeout(ctx, bus.AskTimeout)
	defer cancel()
	stream, err := w.conn.JS.Stream(asking, w.conn.Fleet.BucketStream(subjects.State))
	if err != nil {
		return err
	}
	on := standing{last: stream.CachedInfo().State.LastSeq}
	if err := stream.Purge(ctx, jetstream.WithPurgeSequence(on.last+1)); err != nil {
		return err
	}
	fence, err := writeTerm(ctx, w.conn, w.term, 0, on, bus.PublishTimeout)
	if err != nil {
		return err
	}
	w.fence, w.lost = fence, nil
	if err := w.state.Relist(ctx); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.chain.begin(fence, census.Tally{})
	return nil
}

// rescue keeps records and notes beside state, with the term. They count once the last thing, the head, is written.
func (l *ledger) rescue(ctx context.Context, kept *rescued, term api.Term) error {
	if err := l.forget(ctx); err != nil { // what one kept that was broken off
		return err
	}
	text, err := json.Marshal(term)
	if err != nil {
		return err
	}
	kept = &rescued{records: maps.Clone(kept.records), notes: kept.notes}
	kept.records[subjects.TermKey] = text
	for key, value := range kept.records {
		if _, err := l.store(ctx, subjects.RescuePrefix+key, value); err != nil {
			return err
		}
	}
	for key, note := range kept.notes {
		text, err := json.Marshal(note)
		if err != nil {
			return err
		}
		if _, err := l.store(ctx, subjects.RescueGonePrefix+key, text); err != nil {
			return err
		}
	}
	head := &api.Census{Header: api.NewHeader(api.KindCensus), Pages: len(kept.records) + len(kept.notes)}
	if _, err = l.write(ctx, subjects.RescueHead, head); err == nil {
		l.rescued = kept
	}
	return err
}

// forget removes what rescue kept, the head first.
func (l *ledger) forget(ctx context.Context) error {
	if err := l.remove(ctx, subjects.RescueHead, subjects.RescuePrefix+">", subjects.RescueGonePrefix+">"); err != nil {
		return err
	}
	l.rescued = nil
	return nil
}

// rescuedOf is what rescue kept, with the term, nil where it did not come to its end.
func (l *ledger) rescuedOf(cells map[string]watch.Cell) (*rescued, error) {
	var head api.Census
	if err := l.read(cells, subjects.RescueHead, &head); errors.Is(err, bus.ErrNotFound) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	kept := &rescued{records: map[string][]byte{}, notes: map[string]string{}}
	for key, c := range cells {
		if err := kept.take(key, c.Value); err != nil {
			return nil, fmt.Errorf("%s, which was kept while state is renewed: %w", key, err)
		}
	}
	if found := len(kept.records) + len(kept.notes); found != head.Pages {
		return nil, fmt.Errorf("%d of %d records are there that were kept while state is renewed", found, head.Pages)
	}
	return kept, nil
}

// take takes in what lies at a key, unless that is something else.
func (r *rescued) take(key string, stored []byte) error {
	if of, found := strings.CutPrefix(key, subjects.RescueGonePrefix); found {
		var note string
		if err := bus.Decode(stored, bus.RecordBounds, &note); err != nil {
			return err
		}
		r.notes[of] = note
		return nil
	}
	of, found := strings.CutPrefix(key, subjects.RescuePrefix)
	if !found {
		return nil
	}
	value, err := bus.RecordBounds.Unpack(stored)
	r.records[of] = value
	return err
}
