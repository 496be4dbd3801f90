package store

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"flotilla/bus"
	"flotilla/bus/census"
	"flotilla/core/api"
	"flotilla/subjects"
)

// Bounds of one batch of a replacement.
const (
	replaceOps   = 500
	replaceBytes = 4 << 20
)

// Snapshot is every record of state at one moment, by key, as JSON, without those that only its leader is
// concerned with.
func (s *Store) Snapshot() (map[string][]byte, error) {
	s.Writer.gate.Lock() // no write is under way
	defer s.Writer.gate.Unlock()
	return s.left(replaceable)
}

// replaceable says that a record is part of snapshots.
func replaceable(key string) bool {
	return census.Counted(key) && key != subjects.LayoutKey && key != subjects.RestoringKey && !strings.HasPrefix(key, subjects.Notifications.Prefix())
}

// CheckRecord refuses a record, as JSON, that Replace could not store.
func CheckRecord(key string, value []byte) error {
	if len(value) == 0 {
		return fmt.Errorf("record %s: found no value", key)
	}
	return Check(Put(key, json.RawMessage(value), 0))
}

// Replace puts records, by key and as JSON, in the place of all there are, under a new epoch above the one given.
// While it is under way, and when it is broken off, no hub leads. The store is not to be used after it.
func (s *Store) Replace(ctx context.Context, records map[string][]byte, above uint64) (epoch uint64, err error) {
	if s.Damage != nil {
		return s.replaceAll(ctx, records, above)
	}
	s.closeLedger()
	mark := Put(subjects.RestoringKey, struct{}{}, s.State.Revision(subjects.RestoringKey))
	marked, err := s.Writer.Write(ctx, mark)
	if err != nil {
		return 0, err
	}
	if epoch, err = s.Writer.newEpoch(ctx, above); err != nil {
		return 0, err
	}
	for _, batch := range batched(s.replacement(records)) {
		if _, err := s.Writer.Write(ctx, batch...); err != nil {
			return 0, err
		}
	}
	if _, err := s.Writer.Write(ctx, Delete(subjects.RestoringKey, marked[0])); err != nil {
		return 0, err
	}
	s.Writer.takeFresh() // the ledger is begun anew
	return epoch, s.ledger.begin(ctx, s.State.mirror.All(), s.Writer.tally())
}

// replaceAll is Replace where what there is is damaged.
func (s *Store) replaceAll(ctx context.Context, records map[string][]byte, above uint64) (epoch uint64, err error) {
	left, err := s.left(func(key string) bool { return !replaceable(key) && key != subjects.RestoringKey })
	if err != nil {
		return 0, err
	}
	for key, value := range records {
		if replaceable(key) {
			left[key] = value
		}
	}
	s.Writer.raise(api.Term{Epoch: max(s.Term.Epoch, above) + 1})
	return s.Writer.Term().Epoch, s.renew(ctx, s.renewed(left))
}

// left are the counted records that are there, of those that are to be had.
func (s *Store) left(had func(key string) bool) (map[string][]byte, error) {
	records := map[string][]byte{}
	for key, c := range s.State.mirror.Snapshot() {
		if !census.Counted(key) || !had(key) {
			continue
		}
		value, err := bus.Unpack(c.Value)
		if err != nil {
			return nil, fmt.Errorf("record %s: %w", key, err)
		}
		records[key] = value
	}
	return records, nil
}

// replacement are the changes from what there is to records.
func (s *Store) replacement(records map[string][]byte) (ops []Op) {
	for _, key := range slices.Sorted(maps.Keys(records)) {
		if replaceable(key) {
			ops = append(ops, Put(key, json.RawMessage(records[key]), s.State.Revision(key)))
		}
	}
	for _, key := range s.State.Keys("") {
		if _, kept := records[key]; !kept && replaceable(key) {
			ops = append(ops, Delete(key, s.State.Revision(key)))
		}
	}
	return ops
}

// batched cuts changes, whose values are JSON, into pieces that the server takes at once.
func batched(ops []Op) (batches [][]Op) {
	size := 0
	for _, op := range ops {
		value, _ := op.Value.(json.RawMessage)
		size += len(value)
		if n := len(batches); n == 0 || len(batches[n-1]) == replaceOps || size > replaceBytes {
			batches, size = append(batches, nil), len(value)
		}
		batches[len(batches)-1] = append(batches[len(batches)-1], op)
	}
	return batches
}

// newEpoch writes the term anew, in an epoch above the one given and its own.
func (w *Writer) newEpoch(ctx context.Context, above uint64) (uint64, error) {
	w.gate.Lock()
	defer w.gate.Unlock()
	w.term.Epoch = max(w.term.Epoch, above) + 1
	on, fence, err := w.rewriteTerm(ctx, 0, bus.PublishTimeout)
	if err != nil {
		return 0, fmt.Errorf("beginning epoch %d: %w", w.term.Epoch, err)
	}
	w.fence = fence
	w.mu.Lock()
	defer w.mu.Unlock()
	w.chain.begin(fence, on.tally)
	return w.term.Epoch, nil
}

// HeldEpoch is the newest epoch that any member says to hold.
func (s *Store) HeldEpoch(ctx context.Context) (uint64, error) {
	held, err := highestHeld(ctx, s.Conn, api.Term{Epoch: s.Term.Epoch, Term: s.Term.Term}, time.Now())
	return held.Epoch, err
}
