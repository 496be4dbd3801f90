package store

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"maps"
	"slices"

	"flotilla/bus"
	"flotilla/bus/census"
	"flotilla/core/api"
	"flotilla/core/seal"
)

// NewWriter is a writer of a term that was written with that sequence.
func NewWriter(state *State, term api.Term, fence uint64, replicas int) (*Writer, error) {
	on, err := readStanding(context.Background(), state.conn)
	if err != nil {
		return nil, err
	}
	w, err := newWriter(state, Taken{Term: term, fence: fence, on: on}, replicas)
	if err == nil {
		w.chain.begin(on.last, on.tally)
	}
	return w, err
}

// Len is the number of members that any record names.
func (x *Inverse) Len() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.records)
}

// LedgerSettled says that the ledger holds every write, and knows each to be on disk for good.
func LedgerSettled(s *Store) bool {
	s.Writer.mu.Lock()
	defer s.Writer.mu.Unlock()
	return len(s.Writer.chain.pending)+len(s.Writer.chain.fresh) == 0 && s.ledger.settled.Load() == s.Writer.chain.sure.At
}

// LedgerHolds says that every write is stored in the ledger, whether it is known to be on disk for good or not.
func LedgerHolds(ctx context.Context, s *Store) bool {
	l, err := openLedger(ctx, s.Conn)
	return err == nil && l.book.Tally.At == s.Writer.tally().At
}

// Steps of making the stream of state anew.
const (
	Kept = iota
	Emptied
	HalfWritten
)

// BreakOff makes the stream of state anew, and goes no further than a step.
func BreakOff(ctx context.Context, s *Store, step int) error {
	records, err := s.left(func(string) bool { return true })
	if err == nil {
		err = s.ledger.rescue(ctx, s.renewed(records), s.Writer.Term())
	}
	if err == nil && step >= Emptied {
		err = s.Writer.empty(ctx)
	}
	for _, key := range slices.Sorted(maps.Keys(records))[:len(records)/2] {
		if err == nil && step >= HalfWritten && census.Counted(key) {
			_, err = s.Writer.Write(ctx, Put(key, json.RawMessage(records[key]), 0))
		}
	}
	return err
}

// Whole says that what is there is what the newest write said would be.
func Whole(s *Store) bool { return census.TallyOf(s.State.mirror.All()).Same(s.Writer.tally()) }

// TakeOver opens a store as a hub does that leads in a term, which was stored with a sequence. Listed is called
// each time state was listed again.
func TakeOver(ctx context.Context, c *bus.Conn, term api.Term, sequence uint64, listed func()) (*Store, error) {
	keys, err := seal.NewKeyring(rand.Reader)
	if err != nil {
		return nil, err
	}
	s, err := OpenStore(ctx, c, Taken{Term: term, fence: sequence}, keys)
	if err != nil {
		return nil, err
	}
	s.State.mirror.OnWhole(listed)
	if err := s.count(ctx, &lease{conn: c}, func(error) {}); err != nil {
		return nil, err
	}
	s.closeLedger()
	return s, nil
}

// Reach waits a moment for state to have seen a message.
func Reach(ctx context.Context, s *State, sequence uint64) error { return s.reach(ctx, sequence, 2, 0) }
