package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"flotilla/bus"
	"flotilla/bus/census"
	"flotilla/bus/loop"
	"flotilla/bus/watch"
	"flotilla/core/api"
	"flotilla/subjects"

	"github.com/nats-io/nats.go"
)

const (
	// ledgerEvery is how long a write waits at most to be entered where it is acknowledged before it is.
	ledgerEvery = 100 * time.Millisecond
	// settleAfter is how long after its acknowledgement a write is on disk for good: a server syncs every second.
	settleAfter = 3 * time.Second
	// ledgerPage is how large an entry may be, in bytes of keys and revisions.
	ledgerPage = 600 << 10
	// ledgerSlack is how many changes are kept beside a list of all records, at least, until that is made anew.
	ledgerSlack = 4096
	revisionLen = 24
)

// ledger lists the records of state in a stream of its own, so that what state loses can be named: pages
// of all of them, and behind those what changed since. Its head says which pages count; everything else is
// written on the condition that the head is still the one that this ledger wrote, so that a leader that
// was deposed writes nothing.
type ledger struct {
	conn *bus.Conn
	book census.Book

	generation uint64 // of the pages
	head       uint64 // sequence of the head
	entries    int    // behind the pages
	changes    int    // in these entries
	torn       bool   // an entry was not written: everything is to be listed anew
	marks      []mark
	wake       chan struct{}
	pause      time.Duration  // before what is new is entered
	settled    *atomic.Uint64 // told what is settled
	rescued    *rescued       // what is kept while the stream of state is made anew; nil: it is not
	entered    uint64         // newest write that the book has taken in
	noted      noted
}

// mark is when which write was known to be acknowledged.
type mark struct {
	since time.Time
	at    uint64
}

// openLedger reads the ledger.
func openLedger(ctx context.Context, c *bus.Conn) (*ledger, error) {
	l := &ledger{conn: c, book: census.NewBook(), wake: make(chan struct{}, 1), pause: ledgerEvery, noted: newNoted()}
	cells, err := watch.Read(ctx, c, subjects.Census)
	if err != nil {
		return nil, fmt.Errorf("reading the ledger: %w", err)
	}
	if l.rescued, err = l.rescuedOf(cells); err != nil {
		return nil, fmt.Errorf("reading the ledger: %w", err)
	}
	head, found := cells[subjects.CensusHead]
	if !found {
		return l, nil
	}
	l.head = head.Sequence
	var h api.Census
	if err := l.read(cells, subjects.CensusHead, &h); err != nil {
		return l, nil
	}
	l.generation = h.Generation
	l.fill(cells, &h)
	return l, nil
}

// fill fills the book from the pages of a head and the entries behind them, as far as they are there.
func (l *ledger) fill(cells map[string]watch.Cell, h *api.Census) {
	l.enter(h)
	whole := true
	for page := range h.Pages {
		var entry api.Census
		if l.read(cells, subjects.CensusPage(h.Generation, page), &entry) != nil {
			whole = false
			continue
		}
		for key, revision := range entry.Records {
			l.book.Note(key, revision)
		}
	}
	for ; ; l.entries++ {
		var entry api.Census
		if l.read(cells, subjects.CensusEntry(h.Generation, l.entries), &entry) != nil {
			break
		}
		l.enter(&entry)
	}
	l.book.Check()
	l.book.Whole = l.book.Whole && whole
}

func (l *ledger) read(cells map[string]watch.Cell, key string, into *api.Census) error {
	found, ok := cells[key]
	if !ok {
		return bus.ErrNotFound
	}
	err := bus.Decode(found.Value, bus.RecordBounds, into)
	if err != nil {
		l.conn.Log.Warn().Err(err).Str("key", key).Msg("an entry of the ledger cannot be decoded")
	}
	return err
}

// enter takes an entry into the book.
func (l *ledger) enter(entry *api.Census) {
	for key, revision := range entry.Records {
		l.book.Note(key, revision)
	}
	l.changes += len(entry.Records)
	l.book.Tally, _ = census.ParseTally(entry.Tally)
	l.book.Settled = entry.Settled
}

// begin lists all records anew: cells with their tally.
func (l *ledger) begin(ctx context.Context, cells map[string]watch.Cell, t census.Tally) error {
	l.book = census.NewBook()
	for key, c := range cells {
		if !c.Deleted {
			l.book.Note(key, c.Sequence)
		}
	}
	l.book.Tally, l.book.Settled = t, t.At
	l.marks = nil
	return l.list(ctx)
}

// list writes pages of all records, the head that makes them count, and removes those before them.
func (l *ledger) list(ctx context.Context) error {
	next := l.generation + 1
	pages := paged(l.book.Records)
	for i, page := range pages {
		entry := api.Census{Header: api.NewHeader(api.KindCensus), Generation: next, Records: page}
		if _, err := l.write(ctx, subjects.CensusPage(next, i), &entry); err != nil {
			return err
		}
	}
	head := l.entry(nil)
	head.Generation, head.Pages = next, len(pages)
	sequence, err := l.write(ctx, subjects.CensusHead, head)
	if err != nil {
		return err
	}
	l.head, l.generation, l.entries, l.changes, l.torn = sequence, next, 0, 0, false
	return l.purge(ctx)
}

// purge removes what lies before the head's own pages.
func (l *ledger) purge(ctx context.Context) error {
	return l.remove(ctx, subjects.CensusPages(l.generation-1), subjects.CensusEntries(l.generation-1))
}

// remove removes what lies at keys, in their order.
func (l *ledger) remove(ctx context.Context, keys ...string) error {
	for _, key := range keys {
		if err := l.conn.Purge(ctx, l.conn.Fleet.BucketStream(subjects.Census), l.conn.Fleet.BucketSubject(subjects.Census, key), 0); err != nil {
			return err
		}
	}
	return nil
}

// paged cuts records into pieces that fit into one message each.
func paged(records map[string]uint64) []map[string]uint64 {
	var pages []map[string]uint64
	size := ledgerPage
	for _, key := range slices.Sorted(maps.Keys(records)) {
		if size >= ledgerPage {
			pages = append(pages, map[string]uint64{})
			size = 0
		}
		pages[len(pages)-1][key] = records[key]
		size += len(key) + revisionLen
	}
	return pages
}

// entry is one that says how far the book is.
func (l *ledger) entry(records map[string]uint64) *api.Census {
	return &api.Census{
		Header: api.NewHeader(api.KindCensus), Generation: l.generation, Tally: l.book.Tally.String(), Settled: l.book.Settled, Records: records,
	}
}

// write stores one entry, provided that the head is the one this ledger knows.
func (l *ledger) write(ctx context.Context, key string, entry *api.Census) (uint64, error) {
	text, err := json.Marshal(entry)
	if err != nil {
		return 0, err
	}
	return l.store(ctx, key, text)
}

// store is write for any JSON.
func (l *ledger) store(ctx context.Context, key string, text []byte) (sequence uint64, err error) {
	m := nats.NewMsg(l.conn.Fleet.BucketSubject(subjects.Census, key))
	if m.Data, err = bus.RecordBounds.Pack(text); err != nil {
		return 0, err
	}
	bus.ExpectOf(m, l.conn.Fleet.BucketSubject(subjects.Census, subjects.CensusHead), l.head)
	ack, err := l.conn.Publish(ctx, m)
	if outcomeOf(err) == mismatched {
		err = fmt.Errorf("%w: somebody else writes the ledger", bus.ErrDeposed)
	}
	if err != nil {
		return 0, err
	}
	return ack.Sequence, nil
}

// nudge says that there is something to enter.
func (l *ledger) nudge() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// keep enters what the writer knows to be stored until ctx ends, and then what is left.
func (l *ledger) keep(ctx context.Context, w *Writer) {
	defer l.noted.end()
	rest := time.NewTimer(settleAfter)
	defer rest.Stop()
	retry := loop.Backoff{Most: watch.WaitedFor}
	for {
		select {
		case <-ctx.Done():
			ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), bus.PublishTimeout)
			defer cancel()
			if err := l.take(ending, w, 0); err != nil {
				l.conn.Log.Debug().Err(err).Msg("closing the ledger")
			}
			return
		case <-l.wake:
			loop.Pause(ctx, l.pause)
		case <-rest.C:
		}
		if err := l.take(ctx, w, settleAfter); errors.Is(err, bus.ErrDeposed) {
			return
		} else if err != nil && ctx.Err() == nil {
			l.conn.Log.Warn().Err(err).Msg("entering writes into the ledger, trying again")
			retry.Wait(ctx)
			l.nudge()
		} else {
			retry.Reset()
		}
		rest.Reset(settleAfter)
	}
}

// take enters what is new; what was known for that long is settled.
func (l *ledger) take(ctx context.Context, w *Writer, settle time.Duration) error {
	fresh := w.takeFresh()
	settled := l.settle(fresh, settle)
	if len(fresh) == 0 && settled == l.book.Settled && !l.torn {
		return nil
	}
	for {
		n, records := 0, map[string]uint64{}
		for size := 0; n < len(fresh) && size < ledgerPage; n++ {
			if census.Counted(fresh[n].key) {
				records[fresh[n].key] = fresh[n].revision
				size += len(fresh[n].key) + revisionLen
			}
			l.book.Tally, l.entered = fresh[n].after, fresh[n].sequence
		}
		if fresh = fresh[n:]; len(fresh) == 0 {
			l.book.Settled = settled
		}
		for key, revision := range records {
			l.book.Note(key, revision)
		}
		if err := l.append(ctx, records); err != nil {
			w.returnFresh(fresh)
			return err
		}
		l.noted.upTo(l.entered)
		if len(fresh) == 0 {
			l.settled.Store(settled)
			return nil
		}
	}
}

// append writes changes that the book has taken in, or everything when it is time to. After an error
// everything is written, because nobody knows what was.
func (l *ledger) append(ctx context.Context, records map[string]uint64) error {
	if l.changes += len(records); l.torn || l.changes > max(ledgerSlack, len(l.book.Records)) {
		return l.list(ctx)
	}
	if _, err := l.write(ctx, subjects.CensusEntry(l.generation, l.entries), l.entry(records)); err != nil {
		l.torn = true
		return err
	}
	l.entries++
	return nil
}

// settle marks the newest of fresh, and returns up to where writes were known for long enough.
func (l *ledger) settle(fresh []change, long time.Duration) uint64 {
	now := time.Now()
	if len(fresh) > 0 {
		l.marks = append(l.marks, mark{since: now, at: fresh[len(fresh)-1].after.At})
	}
	settled := l.book.Settled
	for len(l.marks) > 0 && now.Sub(l.marks[0].since) >= long {
		settled = max(settled, l.marks[0].at)
		l.marks = l.marks[1:]
	}
	return settled
}

// takeFresh returns what became known to be stored since it was last called.
func (w *Writer) takeFresh() []change {
	w.mu.Lock()
	defer w.mu.Unlock()
	fresh := w.chain.fresh
	w.chain.fresh = nil
	return fresh
}

// returnFresh gives back what could not be entered.
func (w *Writer) returnFresh(changes []change) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.chain.fresh = append(slices.Clip(changes), w.chain.fresh...)
}
