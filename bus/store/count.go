package store

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"flotilla/bus"
	"flotilla/bus/census"
	"flotilla/bus/loop"
	"flotilla/bus/watch"
	"flotilla/core/api"
	"flotilla/subjects"

	"github.com/nats-io/nats.go/jetstream"
)

// A replica may be behind, or damaged alone: then it is asked again for a while, and another one may answer.
const (
	judgeTries = 10
	judgeWait  = 2 * time.Second
	// judgeElsewhere is after how many tries another replica is to lead the stream: nobody but the one that leads says
	// what is stored, and it may be the one that is damaged.
	judgeElsewhere = 3
)

// count compares state with what was said of it, notes what is gone, and, when nothing is, keeps the
// ledger from here on. lose is called when something is found to be gone later.
func (s *Store) count(ctx context.Context, lease *lease, lose context.CancelCauseFunc) error {
	unread := s.State.reach(ctx, s.Writer.fence, reachTries, reachWait)
	if unread != nil && (s.Writer.replicas > 1 || ctx.Err() != nil) {
		return unread
	}
	var err error
	if s.ledger, err = openLedger(ctx, s.Conn); err != nil {
		return err
	}
	if err := s.resume(ctx); err != nil {
		return err
	}
	found, err := s.judge(ctx, lease.settled.Load())
	if err != nil {
		return err
	}
	if found == nil && unread != nil {
		return unread
	}
	if found != nil && (!found.Recent || unread != nil) {
		s.Damage = found
		s.Writer.refuse(fmt.Errorf("%w: %s", bus.ErrDamaged, found))
		s.Conn.Log.Error().Str("damage", found.String()).Strs("gone", found.Gone).Msg("state is damaged: this hub does not lead")
		return nil
	}
	if found != nil {
		s.Conn.Log.Error().Str("lost", found.String()).Strs("gone", found.Gone).Msg("the newest writes are gone, as after a power cut: going on without them")
		for _, line := range found.Lines() { // before anything is counted anew, which forgets them
			s.Audit.Tell(ctx, api.Audit{Object: "fleet/state", Type: "Warning", Reason: "StateLost", By: "hub", Message: line})
		}
		if _, err := s.Writer.newEpoch(ctx, 0); err != nil { // the server gives the numbers of what is gone again
			return err
		}
		s.Term = s.Writer.Term()
	}
	cells := s.State.mirror.All()
	if err := s.ledger.begin(ctx, cells, s.Writer.settleTally(cells)); err != nil {
		return fmt.Errorf("beginning the ledger: %w", err)
	}
	s.keepCount(ctx, &lease.settled, lose)
	return nil
}

// judge compares, more than once before it says that something is gone.
func (s *Store) judge(ctx context.Context, settled uint64) (*census.Damage, error) {
	tries, wait := 2, time.Duration(0)
	if s.Writer.replicas > 1 {
		tries, wait = judgeTries, judgeWait
	}
	for try := 1; ; try++ {
		found := census.Holes(s.State.mirror.All(), &s.ledger.book, settled)
		if found == nil || try == tries {
			if found != nil {
				found.Lost = lostOf(ctx, s.Conn)
			}
			return found, nil
		}
		if s.Writer.replicas > 1 && try%judgeElsewhere == 0 {
			s.elsewhere(ctx)
		}
		loop.Pause(ctx, wait)
		if err := s.State.Relist(ctx); err != nil {
			return nil, err
		}
	}
}

// elsewhere has another replica lead the stream of state.
func (s *Store) elsewhere(ctx context.Context) {
	var answer struct {
		Error *jetstream.APIError `json:"error"`
	}
	err := s.Conn.AskServer(ctx, subjects.StreamStepDown(s.Conn.Domain, s.Conn.Fleet.BucketStream(subjects.State)), nil, &answer)
	if err == nil && answer.Error != nil {
		err = answer.Error
	}
	s.Conn.Log.Warn().Err(err).Msg("state is not what was written: asking for another server to lead its stream")
}

// keepCount keeps the ledger, and compares after each listing, until the store is closed.
func (s *Store) keepCount(ctx context.Context, settled *atomic.Uint64, lose context.CancelCauseFunc) {
	keeping, closing := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	s.closeLedger = func() { closing(); <-done }
	s.ledger.settled = settled
	s.Writer.confirmed, s.Writer.lose = s.ledger.nudge, lose
	if s.Writer.replicas <= 1 {
		s.ledger.pause, s.Writer.noted = 0, s.ledger.await
	}
	go func() {
		defer close(done)
		s.ledger.keep(keeping, s.Writer)
	}()
	listed := make(chan struct{}, 1)
	s.State.mirror.OnWhole(func() {
		select {
		case listed <- struct{}{}:
		default:
		}
	})
	s.running.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-listed:
				s.Writer.recount(ctx)
			}
		}
	})
}

// AcceptLoss goes on with what is left of a damaged state, without records that came back and after ops, which clear up
// behind what is gone, under a new epoch: the server may give the numbers of what is gone again. The store is not to be used after it: whoever leads
// next finds state whole.
func (s *Store) AcceptLoss(ctx context.Context, ops []Op) error {
	if s.ledger.rescued != nil { // it was broken off
		return s.refill(ctx, s.ledger.rescued)
	}
	records, err := s.left(func(string) bool { return true })
	if err != nil {
		return err
	}
	for _, key := range s.Damage.Deleted {
		delete(records, key)
	}
	for _, op := range ops {
		if op.Value == nil {
			delete(records, op.Key)
			continue
		}
		if records[op.Key], err = bus.Encode(op.Value); err != nil {
			return fmt.Errorf("record %s: %w", op.Key, err)
		}
	}
	s.Writer.raise(api.Term{Epoch: s.Term.Epoch + 1})
	return s.renew(ctx, s.renewed(records))
}

// tally is that of all that is known to be stored.
func (w *Writer) tally() census.Tally {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.chain.sure
}

// refuse makes every write fail.
func (w *Writer) refuse(why error) {
	w.gate.Lock()
	defer w.gate.Unlock()
	w.lost = why
}

// settleTally returns the tally that the chain begins with; when no message said it, that of cells.
func (w *Writer) settleTally(cells map[string]watch.Cell) census.Tally {
	w.mu.Lock()
	defer w.mu.Unlock()
	if live := census.TallyOf(cells); !live.Same(w.chain.sent) {
		w.chain.begin(w.chain.last, live)
	}
	return w.chain.sent
}

// recount compares state, which was just listed, with what was written.
func (w *Writer) recount(ctx context.Context) {
	w.gate.Lock()
	defer w.gate.Unlock()
	for try := 1; ; try++ {
		w.mu.Lock()
		wanted, broken := w.chain.sure, w.chain.broken() || len(w.chain.pending) > 0
		w.mu.Unlock()
		if w.lost != nil || broken || !w.state.Synced() {
			return
		}
		live := census.TallyOf(w.state.mirror.All())
		if live.Same(wanted) {
			return
		}
		if try == 2 {
			w.giveUp(miscounted(wanted, live))
			return
		}
		listing, cancel := context.WithTimeout(ctx, bus.AskTimeout)
		err := w.state.Relist(listing)
		cancel()
		if err != nil {
			return
		}
	}
}

func miscounted(wanted, live census.Tally) error {
	return fmt.Errorf("%w: %d records were stored, and %d are there, or others", bus.ErrDamaged, wanted.Count, live.Count)
}

// detailed asks a server for all that it knows of a stream: only then it says what it lost.
var detailed = []byte(`{"deleted_details":true}`)

// lostOf is what the server says to have lost of state; it forgets with a restart.
func lostOf(ctx context.Context, c *bus.Conn) census.Lost {
	var answer struct {
		State struct {
			Lost struct {
				Messages []uint64 `json:"msgs"` // none where it does not know how many there were
				Bytes    uint64   `json:"bytes"`
			} `json:"lost"`
		} `json:"state"`
	}
	if err := c.AskServer(ctx, subjects.StreamInfo(c.Domain, c.Fleet.BucketStream(subjects.State)), detailed, &answer); err != nil {
		c.Log.Warn().Err(err).Msg("asking the server what it lost")
	}
	lost := answer.State.Lost
	return census.Lost{Messages: len(lost.Messages), Bytes: lost.Bytes}
}
