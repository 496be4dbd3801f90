package member

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"flotilla/bus"
	"flotilla/bus/loop"
	"flotilla/core/api"
	"flotilla/subjects"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

const (
	// slotPace is the least time between two writes of a slot: what comes meanwhile goes with the next.
	slotPace = 10 * time.Millisecond
	// slotRetry and slotMostRetry bound the delay after a write that failed.
	slotRetry     = 200 * time.Millisecond
	slotMostRetry = 10 * time.Second
	// slotSpread is over how long a fleet that comes back looks whether the broker still has the newest of its results,
	// slotRest how long it takes at most until it looked for all of them.
	slotSpread = 5 * time.Second
	slotRest   = time.Minute
)

// results are what an agent reports, in the slots that its member has. The slot is written once for all
// that changed while it was being written.
type results struct {
	agent  *Conn
	spread time.Duration   // slotSpread
	rest   time.Duration   // slotRest
	ctx    context.Context //nolint:containedctx // of the writers, which outlive whoever wakes them; Close ends it
	cancel context.CancelFunc

	mu      sync.Mutex // guards what follows
	closed  bool
	writers sync.WaitGroup
	slots   [subjects.ResultSlots]*slot
	wanted  map[string]func(name string) bool // by kind
	most    int                               // bytes of a batch as the server takes it
	later   *time.Timer                       // until all slots are compared
}

// slot is one batch.
type slot struct {
	number  int
	held    map[resultID]json.RawMessage
	begun   bool   // what the server had when the agent began is in held
	known   bool   // stored is what the server has
	doubts  uint64 // times that this came into doubt
	stored  []byte // packed
	at      uint64 // sequence of stored, 0 for nothing
	version uint64 // of held
	told    uint64 // version that the server has
	failed  error  // of the last write
	changed chan struct{}
	writing bool
	due     *time.Timer
}

// resultID names a result within its member.
type resultID struct{ kind, name string }

func newResultSlots(a *Conn) *results {
	ctx, cancel := context.WithCancel(context.Background())
	r := &results{
		agent: a, spread: slotSpread, rest: slotRest, ctx: ctx, cancel: cancel, wanted: map[string]func(string) bool{}, most: bus.MaxResultBatch,
	}
	for i := range r.slots {
		r.slots[i] = &slot{number: i, held: map[resultID]json.RawMessage{}, changed: make(chan struct{})}
	}
	return r
}

// PutResult makes result the one of a kind of command and a name ("placement", "web"), and returns when the
// server has it. It is written again, and again, until the server has it, whether that errs or not.
// ErrTooLarge above 16 KiB.
func (a *Conn) PutResult(ctx context.Context, kind, name string, result any) error {
	s, version, err := a.results.set(kind, name, result)
	if err != nil {
		return err
	}
	if err := a.results.wait(ctx, s, version); err != nil {
		return fmt.Errorf("putting result of %s %s: %w", kind, name, err)
	}
	return nil
}

// TellResult is PutResult without waiting for the server. ErrTooLarge above 16 KiB.
func (a *Conn) TellResult(kind, name string, result any) error {
	_, _, err := a.results.set(kind, name, result)
	return err
}

// DropResult drops a result that nobody asks for any more.
func (a *Conn) DropResult(kind, name string) { a.results.remove(resultID{kind, name}) }

// ResultTold says that the server has what was told last of a kind and name.
func (a *Conn) ResultTold(kind, name string) bool {
	r := a.results
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.slots[subjects.ResultSlot(kind, name)]
	return s.known && s.told == s.version
}

// KeepResults says which results of a kind are asked for, of those that the server had when the agent
// began: the others are dropped. Until it is called all of them stay. It must not block.
func (a *Conn) KeepResults(kind string, wanted func(name string) bool) {
	r := a.results
	r.mu.Lock()
	r.wanted[kind] = wanted
	r.mu.Unlock()
	for _, id := range r.unwanted() {
		r.remove(id)
	}
}

// CompareResults reads back what the server has, and writes again what it lost.
func (a *Conn) CompareResults() { a.results.doubt() }

// set takes a result in and has it written.
func (r *results) set(kind, name string, result any) (*slot, uint64, error) {
	text, err := json.Marshal(result)
	if err != nil {
		return nil, 0, fmt.Errorf("result of %s %s: %w", kind, name, err)
	}
	if len(text) > bus.MaxResult {
		return nil, 0, fmt.Errorf("result of %s %s: %w: %d bytes, at most %d", kind, name, bus.ErrTooLarge, len(text), bus.MaxResult)
	}
	if len(name) > bus.MaxResultName {
		return nil, 0, fmt.Errorf("result of %s: %w: its name has %d bytes, at most %d", kind, bus.ErrTooLarge, len(name), bus.MaxResultName)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.slots[subjects.ResultSlot(kind, name)]
	id := resultID{kind, name}
	if !bytes.Equal(s.held[id], text) {
		s.held[id] = text
		s.version++
	}
	if !s.known || s.told != s.version {
		r.wake(s, 0)
	}
	return s, s.version, nil
}

func (r *results) remove(id resultID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.slots[subjects.ResultSlot(id.kind, id.name)]
	if _, held := s.held[id]; !held {
		return
	}
	delete(s.held, id)
	s.version++
	r.wake(s, 0)
}

// unwanted are the results that nobody asks for.
func (r *results) unwanted() []resultID {
	r.mu.Lock()
	wanted := maps.Clone(r.wanted)
	var all []resultID
	for _, s := range r.slots {
		all = slices.AppendSeq(all, maps.Keys(s.held))
	}
	r.mu.Unlock()
	return slices.DeleteFunc(all, func(id resultID) bool {
		ask := wanted[id.kind]
		return ask == nil || ask(id.name)
	})
}

// wait returns when the server has a version of a slot, or with why it does not.
func (r *results) wait(ctx context.Context, s *slot, version uint64) error {
	for {
		r.mu.Lock()
		done, failed, changed := s.known && s.told >= version, s.failed, s.changed
		if !done && failed == nil && r.closed {
			failed = errClosed
		}
		r.mu.Unlock()
		if done {
			return nil
		}
		if failed != nil {
			return failed
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

var errClosed = errors.New("the connection is closed")

// wake has a slot written soon; the lock is held.
func (r *results) wake(s *slot, after time.Duration) {
	if r.closed || s.writing {
		return
	}
	if s.due != nil {
		s.due.Stop()
	}
	if after > 0 {
		s.due = time.AfterFunc(after, func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.wake(s, 0)
		})
		return
	}
	s.due, s.writing, s.failed = nil, true, nil
	r.writers.Go(func() { r.write(s) })
}

// write brings a slot to the server until nothing of it is news, or the server is away.
func (r *results) write(s *slot) {
	retry := loop.Backoff{First: slotRetry, Most: slotMostRetry}
	for {
		more, err := r.once(s)
		wait := slotPace
		if err == nil {
			retry.Reset()
		} else {
			wait = loop.Spread(retry.Next())
			r.report(s, err, wait)
		}
		if !more {
			return
		}
		loop.Pause(r.ctx, wait)
	}
}

// report logs why a slot could not be written, unless that says no more than that nobody is there.
func (r *results) report(s *slot, err error, again time.Duration) {
	if !r.agent.Connected() || r.ctx.Err() != nil {
		return
	}
	r.mu.Lock()
	level := zerolog.WarnLevel
	if s.version == 0 {
		level = zerolog.DebugLevel
	}
	r.mu.Unlock()
	r.agent.conn.Log.WithLevel(level).Err(err).Int("slot", s.number).Dur("again", again).Msg("results could not be reported")
}

// once makes the server have what a slot held when it was called. More says that there is news, or that it
// is to be tried again; without it somebody has to wake the slot once more.
func (r *results) once(s *slot) (more bool, err error) {
	state := r.look(s)
	if !state.known {
		before := state.at
		if state.stored, state.at, err = r.read(s); err != nil {
			return r.fail(s, err), err
		}
		if state.at < before {
			r.doubtOthers(s)
		}
	}
	if !state.begun {
		r.inherit(s, state.stored)
	}
	text, version, err := r.encode(s)
	if err == nil && !bytes.Equal(text, state.stored) {
		state.at, err = r.publish(s, text)
	}
	if err != nil {
		return r.fail(s, err), err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s.known, s.stored, s.at, s.told, s.failed = s.doubts == state.doubts, text, state.at, version, nil
	s.tell()
	s.writing = (!s.known || s.version != version) && !r.closed
	return s.writing, nil
}

// look is a copy of what is known of a slot.
func (r *results) look(s *slot) slot {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slot{known: s.known, begun: s.begun, stored: s.stored, at: s.at, doubts: s.doubts}
}

// fail notes why a slot could not be written, and says whether to go on: while the server is away nobody
// does, and who connects looks again.
func (r *results) fail(s *slot, err error) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	s.failed, s.known = err, false
	s.writing = r.agent.Connected() && !r.closed
	s.tell()
	return s.writing
}

// tell wakes who waits for a slot; the lock is held.
func (s *slot) tell() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// read is what the server has of a slot, and its sequence; nil and 0 when it has nothing.
func (r *results) read(s *slot) ([]byte, uint64, error) {
	f := r.agent.conn.Fleet
	m, err := r.agent.direct(r.ctx, f.BucketStream(subjects.Result), f.BucketSubject(subjects.Result, subjects.ResultSlotKey(r.agent.member, s.number)))
	if errors.Is(err, bus.ErrNotFound) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("reading back slot %d: %w", s.number, err)
	}
	return m.Value, m.Sequence, nil
}

// inherit takes over what an earlier process reported and this one has not. What cannot be read is left out.
func (r *results) inherit(s *slot, stored []byte) {
	var batch api.ResultBatch
	if len(stored) > 0 && bus.Decode(stored, bus.BatchBounds, &batch) != nil {
		batch.Results = nil
	}
	r.mu.Lock()
	for _, one := range batch.Results {
		id := resultID{one.Kind, one.Name}
		if _, newer := s.held[id]; !newer && subjects.ResultSlot(one.Kind, one.Name) == s.number {
			s.held[id] = one.Result
			s.version++
		}
	}
	s.begun = true
	r.mu.Unlock()
	for _, id := range r.unwanted() {
		r.remove(id)
	}
}

// publish stores a batch. A server that takes less than was thought is believed.
func (r *results) publish(s *slot, text []byte) (sequence uint64, err error) {
	key := subjects.ResultSlotKey(r.agent.member, s.number)
	what := fmt.Sprintf("slot %d of the results", s.number)
	sequence, err = r.agent.send(r.ctx, what, r.agent.conn.Fleet.BucketSubject(subjects.Result, key), text, bus.MaxResultBatch)
	if errors.Is(err, errMessageTooLarge) {
		r.mu.Lock()
		r.most = min(r.most, max(bus.MinResultBatch, len(text)/2))
		r.mu.Unlock()
	}
	return sequence, err
}

// errMessageTooLarge is of a message above the stream's max_msg_size.
var errMessageTooLarge = &jetstream.APIError{ErrorCode: 10054}

// close ends the writers.
func (r *results) close() {
	r.cancel()
	r.mu.Lock()
	r.closed = true
	if r.later != nil {
		r.later.Stop()
	}
	for _, s := range r.slots {
		if s.due != nil {
			s.due.Stop()
		}
		s.tell()
	}
	r.mu.Unlock()
	r.writers.Wait()
}
