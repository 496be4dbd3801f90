package watch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"flotilla/bus"
	"flotilla/bus/lines"
	"flotilla/core/api"
	"flotilla/subjects"
)

// ResultBatches unpack what agents write to bucket result: each batch into the single results it holds,
// under subjects.ResultKey. What is equal to what was there before wakes nobody; what a batch holds no
// more is gone.
type ResultBatches struct {
	conn   *bus.Conn
	mirror *Mirror
	feed   *Feed
	turns  *turns

	mu      sync.Mutex // guards what follows, and is not held while the mirror is told
	held    map[string]heldBatch
	round   uint64
	refused func(ResultRefusal)
	untold  []ResultRefusal
}

// heldBatch is the batch of a slot that was unpacked last.
type heldBatch struct {
	sequence uint64
	bytes    int // as stored
	keys     map[string]struct{}
	round    uint64 // of the last listing that had it
}

// ResultRefusal says what of a batch was skipped, and why.
type ResultRefusal struct {
	Member string
	Key    string // of the batch, "<member>.<slot>"
	Err    error
}

// NewResults returns an empty cache of the single results, and what fills it.
func NewResults(c *bus.Conn) (*Cache, *ResultBatches) {
	cache := &Cache{conn: c, from: BucketSource(c.Fleet, subjects.Result), lines: lines.Bound{Now: c.Now}}
	cache.mirror = NewMirror(cache.changed)
	b := &ResultBatches{conn: c, mirror: cache.mirror, held: map[string]heldBatch{}}
	b.turns = newTurns(b.unpack)
	b.feed = NewFeed(c, cache.from, b)
	cache.feed = b.feed
	return cache, b
}

// Run follows the bucket until ctx ends.
func (b *ResultBatches) Run(ctx context.Context) {
	var running sync.WaitGroup
	running.Go(func() { b.turns.run(ctx, &b.feed.mu) })
	b.feed.Run(ctx)
	running.Wait()
}

// OnRefusal has f told of what is skipped from now on, and of what was skipped before. It must not block.
func (b *ResultBatches) OnRefusal(f func(ResultRefusal)) {
	b.mu.Lock()
	untold := b.untold
	b.refused, b.untold = f, nil
	b.mu.Unlock()
	for _, r := range untold {
		f(r)
	}
}

// Members lists those of which a batch is stored, sorted.
func (b *ResultBatches) Members() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var members []string
	for key := range b.held {
		if member, _, ok := subjects.ParseResultSlotKey(key); ok {
			members = append(members, member)
		}
	}
	slices.Sort(members)
	return slices.Compact(members)
}

// Bytes is what the batches of each member take in the bucket.
func (b *ResultBatches) Bytes() map[string]int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := map[string]int64{}
	for key, h := range b.held {
		member, _, _ := strings.Cut(key, ".")
		out[member] += int64(h.bytes)
	}
	return out
}

// PurgeMember removes all batches of a member, but for what it writes meanwhile.
func (b *ResultBatches) PurgeMember(ctx context.Context, member string) error {
	newest := b.newestOf(member)
	if newest == 0 {
		return nil
	}
	if err := b.conn.Purge(ctx, b.feed.from.stream, b.conn.Fleet.BucketSubject(subjects.Result, member+".>"), newest); err != nil {
		return fmt.Errorf("purging the results of %s: %w", member, err)
	}
	b.feed.mu.Lock()
	defer b.feed.mu.Unlock()
	b.turns.drain()
	for key, h := range b.slotsOf(member) {
		if h.sequence <= newest {
			b.drop(key, h)
		}
	}
	return nil
}

// newestOf is the sequence of the newest batch of a member, 0 when it has none.
func (b *ResultBatches) newestOf(member string) uint64 {
	b.feed.mu.Lock()
	defer b.feed.mu.Unlock()
	b.turns.drain()
	var newest uint64
	for _, h := range b.slotsOf(member) {
		newest = max(newest, h.sequence)
	}
	return newest
}

func (b *ResultBatches) slotsOf(member string) map[string]heldBatch {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := map[string]heldBatch{}
	for key, h := range b.held {
		if strings.HasPrefix(key, member+".") {
			out[key] = h
		}
	}
	return out
}

// drop forgets a batch and what it held.
func (b *ResultBatches) drop(key string, h heldBatch) {
	b.mu.Lock()
	delete(b.held, key)
	b.mu.Unlock()
	for _, gone := range slices.Sorted(maps.Keys(h.keys)) {
		b.mirror.forget(gone, h.sequence)
	}
}

func (b *ResultBatches) begin() {
	b.turns.drain()
	b.mu.Lock()
	b.round++
	b.mu.Unlock()
	b.mirror.begin()
}

func (b *ResultBatches) opened(l listing) {
	b.mirror.mu.RLock()
	lostWrites := l.last < b.mirror.before
	b.mirror.mu.RUnlock()
	b.mirror.opened(l)
	if !lostWrites {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for key, h := range b.held {
		h.sequence = 0
		b.held[key] = h
	}
}

func (b *ResultBatches) message(m Message) {
	member, _, _ := strings.Cut(m.Key, ".")
	if m.replayed {
		b.unpack(m)
		return
	}
	b.turns.add(member, m)
}

func (b *ResultBatches) listed() {
	b.turns.drain()
	for key, h := range b.unseen() {
		b.drop(key, h)
	}
	b.mirror.listed()
}

func (b *ResultBatches) unseen() map[string]heldBatch {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := map[string]heldBatch{}
	for key, h := range b.held {
		if h.round != b.round {
			out[key] = h
		}
	}
	return out
}

func (b *ResultBatches) lost() { b.mirror.lost() }

// unpack takes in the newest batch of a slot.
func (b *ResultBatches) unpack(m Message) {
	b.mu.Lock()
	before := b.held[m.Key]
	round := b.round
	if m.Sequence <= before.sequence {
		before.round = round
		b.held[m.Key] = before
	}
	b.mu.Unlock()
	if m.Sequence <= before.sequence {
		b.mirror.keep(before.keys)
		return
	}
	now := heldBatch{sequence: m.Sequence, bytes: len(m.Value), keys: map[string]struct{}{}, round: round}
	b.mu.Lock()
	b.held[m.Key] = now
	b.mu.Unlock()
	results := b.read(m)
	for _, one := range results {
		now.keys[one.Key] = struct{}{}
		b.mirror.replace(one)
	}
	b.mirror.saw(m.Sequence)
	for _, key := range slices.Sorted(maps.Keys(before.keys)) {
		if _, stays := now.keys[key]; !stays {
			b.mirror.forget(key, m.Sequence)
		}
	}
}

// read returns the results of a batch, as messages of their own.
func (b *ResultBatches) read(m Message) []Message {
	member, slot, ok := subjects.ParseResultSlotKey(m.Key)
	var batch api.ResultBatch
	var err error
	switch {
	case !ok:
		err = errors.New("it is no slot of a member")
	case len(m.Value) == 0:
		return nil // its agent has nothing to say, or somebody deleted it
	default:
		err = bus.Decode(m.Value, bus.BatchBounds, &batch)
	}
	if err == nil && len(batch.Results) > bus.MaxResultsOfABatch {
		err = bus.Beyond("more than %d results", bus.MaxResultsOfABatch)
	}
	if err == nil && batch.Member != member {
		err = fmt.Errorf("it says that it is of member %q", batch.Member)
	}
	if err != nil {
		b.refuse(m, fmt.Errorf("all of it: %w", err))
		return nil
	}
	out := make([]Message, 0, len(batch.Results))
	names := make(map[string]struct{}, len(batch.Results))
	for i := range batch.Results {
		one := &batch.Results[i]
		key := subjects.ResultKey(member, one.Kind, one.Name)
		if _, twice := names[key]; twice {
			err = fmt.Errorf("%s %q is there twice", one.Kind, one.Name)
		} else {
			err = checkResult(one, slot)
		}
		if err != nil {
			b.refuse(m, err)
			continue
		}
		names[key] = struct{}{}
		out = append(out, Message{Key: key, Value: one.Result, Sequence: m.Sequence, stored: m.stored, replayed: m.replayed})
	}
	return out
}

// checkResult says what is wrong with a result of a slot.
func checkResult(one *api.BatchedResult, slot int) error {
	switch {
	case !slices.Contains(subjects.CommandKinds(), one.Kind):
		return fmt.Errorf("there is no kind of results %q", one.Kind)
	case one.Name == "" || len(one.Name) > bus.MaxResultName:
		return fmt.Errorf("a result of %s has a name of %d bytes, expected 1 to %d", one.Kind, len(one.Name), bus.MaxResultName)
	case subjects.ResultSlot(one.Kind, one.Name) != slot:
		return fmt.Errorf("%s %q belongs in slot %d", one.Kind, one.Name, subjects.ResultSlot(one.Kind, one.Name))
	}
	if err := bus.ResultBounds.Check(one.Result); err != nil {
		return fmt.Errorf("%s %q: %w", one.Kind, one.Name, err)
	}
	if len(one.Result) > bus.MaxResult {
		return fmt.Errorf("%s %q: %w: %d bytes, at most %d", one.Kind, one.Name, bus.ErrTooLarge, len(one.Result), bus.MaxResult)
	}
	return nil
}

// mostUntold bounds what is remembered of refusals that nobody asked for yet.
const mostUntold = 100

func (b *ResultBatches) refuse(m Message, err error) {
	member, _, _ := strings.Cut(m.Key, ".")
	r := ResultRefusal{Member: member, Key: m.Key, Err: fmt.Errorf("message %d, %d bytes: %w", m.Sequence, len(m.Value), err)}
	b.mu.Lock()
	tell := b.refused
	if tell == nil && len(b.untold) < mostUntold {
		b.untold = append(b.untold, r)
	}
	b.mu.Unlock()
	if tell != nil {
		tell(r)
	}
}

// replace takes in a message whose key only its sender writes, unless it says what is known already.
func (m *Mirror) replace(msg Message) {
	m.mu.Lock()
	old, known := m.cells[msg.Key]
	same := known && !old.Deleted && bytes.Equal(old.Value, msg.Value)
	if same {
		old.round = m.round
		m.cells[msg.Key] = old
	}
	m.mu.Unlock()
	if same {
		return
	}
	msg.Value = bytes.Clone(msg.Value)
	m.message(msg)
}

// keep says that keys are still there.
func (m *Mirror) keep(keys map[string]struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key := range keys {
		if c, ok := m.cells[key]; ok {
			c.round = m.round
			m.cells[key] = c
		}
	}
}

// saw notes a sequence that was taken in.
func (m *Mirror) saw(sequence uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.newest = max(m.newest, sequence)
}
