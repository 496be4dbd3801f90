package bus

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"flotilla/core/api"
	"flotilla/subjects"

	"github.com/nats-io/nats.go/jetstream"
)

// ResultBatches unpack what agents write to bucket result: each batch into the single results it holds,
// under subjects.ResultKey. What is equal to what was there before wakes nobody; what a batch holds no
// more is gone.
type ResultBatches struct {
	conn   *Conn
	mirror *mirror
	feed   *feed
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

// newResults returns an empty cache of the single results, and what fills it.
func newResults(c *Conn) (*Cache, *ResultBatches) {
	cache := &Cache{conn: c, from: bucketSource(c.Fleet, subjects.Result)}
	cache.mirror = newMirror(cache.changed)
	b := &ResultBatches{conn: c, mirror: cache.mirror, held: map[string]heldBatch{}}
	b.turns = newTurns(b.unpack)
	b.feed = newFeed(c, cache.from, b)
	cache.feed = b.feed
	return cache, b
}

// Run follows the bucket until ctx ends.
func (b *ResultBatches) Run(ctx context.Context) {
	var running sync.WaitGroup
	running.Go(func() { b.turns.run(ctx, &b.feed.mu) })
	b.feed.run(ctx)
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
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	stream, err := b.conn.JS.Stream(ctx, b.feed.from.stream)
	if err == nil {
		err = stream.Purge(ctx, jetstream.WithPurgeSubject(b.conn.Fleet.BucketSubject(subjects.Result, member+".>")),
			jetstream.WithPurgeSequence(newest+1))
	}
	if err != nil {
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

func (b *ResultBatches) message(m message) {
	member, _, _ := strings.Cut(m.key, ".")
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
func (b *ResultBatches) unpack(m message) {
	b.mu.Lock()
	before := b.held[m.key]
	round := b.round
	if m.sequence <= before.sequence {
		before.round = round
		b.held[m.key] = before
	}
	b.mu.Unlock()
	if m.sequence <= before.sequence {
		b.mirror.keep(before.keys)
		return
	}
	now := heldBatch{sequence: m.sequence, bytes: len(m.value), keys: map[string]struct{}{}, round: round}
	b.mu.Lock()
	b.held[m.key] = now
	b.mu.Unlock()
	results := b.read(m)
	for _, one := range results {
		now.keys[one.key] = struct{}{}
		b.mirror.replace(one)
	}
	b.mirror.saw(m.sequence)
	for _, key := range slices.Sorted(maps.Keys(before.keys)) {
		if _, stays := now.keys[key]; !stays {
			b.mirror.forget(key, m.sequence)
		}
	}
}

// read returns the results of a batch, as messages of their own.
func (b *ResultBatches) read(m message) []message {
	member, slot, ok := subjects.ParseResultSlotKey(m.key)
	var batch api.ResultBatch
	var err error
	switch {
	case !ok:
		err = errors.New("it is no slot of a member")
	case len(m.value) == 0:
		return nil // its agent has nothing to say, or somebody deleted it
	default:
		err = decode(m.value, batchBounds, &batch)
	}
	if err == nil && len(batch.Results) > MaxResultsOfABatch {
		err = beyond("more than %d results", MaxResultsOfABatch)
	}
	if err == nil && batch.Member != member {
		err = fmt.Errorf("it says that it is of member %q", batch.Member)
	}
	if err != nil {
		b.refuse(m, fmt.Errorf("all of it: %w", err))
		return nil
	}
	out := make([]message, 0, len(batch.Results))
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
		out = append(out, message{key: key, value: one.Result, sequence: m.sequence, stored: m.stored, replayed: m.replayed})
	}
	return out
}

// checkResult says what is wrong with a result of a slot.
func checkResult(one *api.BatchedResult, slot int) error {
	switch {
	case !slices.Contains(subjects.CommandKinds(), one.Kind):
		return fmt.Errorf("there is no kind of results %q", one.Kind)
	case one.Name == "" || len(one.Name) > maxResultName:
		return fmt.Errorf("a result of %s has a name of %d bytes, expected 1 to %d", one.Kind, len(one.Name), maxResultName)
	case subjects.ResultSlot(one.Kind, one.Name) != slot:
		return fmt.Errorf("%s %q belongs in slot %d", one.Kind, one.Name, subjects.ResultSlot(one.Kind, one.Name))
	}
	if err := resultBounds.check(one.Result); err != nil {
		return fmt.Errorf("%s %q: %w", one.Kind, one.Name, err)
	}
	if len(one.Result) > MaxResult {
		return fmt.Errorf("%s %q: %w: %d bytes, at most %d", one.Kind, one.Name, ErrTooLarge, len(one.Result), MaxResult)
	}
	return nil
}

// mostUntold bounds what is remembered of refusals that nobody asked for yet.
const mostUntold = 100

func (b *ResultBatches) refuse(m message, err error) {
	member, _, _ := strings.Cut(m.key, ".")
	r := ResultRefusal{Member: member, Key: m.key, Err: fmt.Errorf("message %d, %d bytes: %w", m.sequence, len(m.value), err)}
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
func (m *mirror) replace(msg message) {
	m.mu.Lock()
	old, known := m.cells[msg.key]
	same := known && !old.deleted && bytes.Equal(old.value, msg.value)
	if same {
		old.round = m.round
		m.cells[msg.key] = old
	}
	m.mu.Unlock()
	if same {
		return
	}
	msg.value = bytes.Clone(msg.value)
	m.message(msg)
}

// keep says that keys are still there.
func (m *mirror) keep(keys map[string]struct{}) {
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
func (m *mirror) saw(sequence uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.newest = max(m.newest, sequence)
}
