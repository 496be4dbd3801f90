package watch

import (
	"context"
	"fmt"
	"sync"
	"time"

	"flotilla/bus"
	"flotilla/bus/loop"
	"flotilla/subjects"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	relistEvery = time.Hour
	stallCheck  = time.Second     // a listing that makes no progress is looked at
	lastRetry   = 5 * time.Second // longest between two tries
)

// Message is one stored message of a bucket.
type Message struct {
	Key      string
	Value    []byte // nil: the key was deleted
	Sequence uint64
	stored   time.Time
	replayed bool
	Note     string // of a deletion
	tally    string // of all records, by who wrote it
}

// listing is one pass over a bucket: everything stored comes as replayed messages, then the rest live.
type listing struct {
	last   uint64    // newest sequence of the stream when the pass began
	broker time.Time // clock of the broker at local
	local  time.Time
}

// age at now, the hub's clock, of what was stored at a time of the broker's: the broker's time when the
// listing began minus that, plus the time since then, so that only one clock at a time is compared with
// itself.
func (l listing) age(stored, now time.Time) time.Duration {
	return max(0, l.broker.Sub(stored)+now.Sub(l.local))
}

// sink takes in what a feed delivers. Its functions are called one at a time.
type sink interface {
	// begin says that a listing is about to be made; what was written before will be in it.
	begin()
	// opened says against what the listing is to be read.
	opened(listing)
	message(Message)
	// listed says that everything of the current listing was delivered: keys that did not come are gone.
	listed()
	// lost says that messages may have been missed until the next listed.
	lost()
}

// source is what a feed follows: the subjects of a stream that any filter lets through, each standing for
// one key.
type source struct {
	name    string // for people: the short name of the bucket or stream
	stream  string
	filters []string
	key     func(subject string) (string, bool)
	// subject is the inverse of key.
	subject func(key string) string
	// window is how many bytes are on their way at most, of what many write. What is replaced before its turn
	// to be sent comes has never to be read. 0: as many as the server sends.
	window int
}

// BucketSource is a whole bucket, by short name.
func BucketSource(f subjects.Fleet, bucket string) source {
	return source{
		name: bucket, stream: f.BucketStream(bucket), window: windowOf(bucket), filters: []string{f.BucketSubject(bucket, ">")},
		key:     func(subject string) (string, bool) { return f.BucketKey(bucket, subject) },
		subject: func(key string) string { return f.BucketSubject(bucket, key) },
	}
}

// inventorySource is the newest inventory of every member, by member.
func inventorySource(f subjects.Fleet) source {
	return source{
		name: subjects.Events, stream: f.Stream(subjects.Events), window: windowOf(subjects.Events), filters: []string{f.Inventory("*")},
		key: f.ParseInventory, subject: f.Inventory,
	}
}

// Feed follows a source with one consumer: newest value of every key, then every change. It
// lists anew after each reconnect, gap, consumer loss and slow-consumer drop, and every hour, because
// a watcher that only resumes may miss deletions.
type Feed struct {
	conn *bus.Conn
	from source
	sink sink

	mu    sync.Mutex // guards the sink against a watcher that was left
	again chan string
	// patience is that of run alone.
	patience Patience
}

// NewFeed has a sink told of a source, once it runs.
func NewFeed(c *bus.Conn, from source, s sink) *Feed {
	return &Feed{conn: c, from: from, sink: s, again: make(chan string, 1), patience: NewPatience()}
}

// Run follows until ctx ends.
func (f *Feed) Run(ctx context.Context) {
	defer f.conn.Listen(f.disturbed)()
	retry := loop.Backoff{Most: WaitedFor}
	for ctx.Err() == nil {
		began := time.Now()
		reason, err := f.follow(ctx)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			f.conn.Log.Debug().Str("bucket", f.from.name).Str("reason", reason).Msg("listing anew")
			retry.Reset()
			continue
		}
		delay := retry.Next()
		f.conn.Log.Warn().Err(err).Str("bucket", f.from.name).Dur("delay", delay).Msg("watching stopped, trying again")
		loop.Pause(ctx, loop.Spread(delay))
		if time.Since(began) > lastRetry {
			retry.Reset()
		}
	}
}

// relist asks for a new listing soon.
func (f *Feed) relist(reason string) {
	select {
	case f.again <- reason:
	default:
	}
}

// Missed says that messages may have been missed, and asks for a new listing.
func (f *Feed) Missed(reason string) {
	f.sink.lost()
	f.relist(reason)
}

func (f *Feed) disturbed(d bus.Disturbance, _ error) {
	if d == bus.Denied {
		return
	}
	f.mu.Lock()
	f.sink.lost()
	f.mu.Unlock()
	switch d {
	case bus.Restored:
		f.relist("reconnected")
	case bus.Slow:
		f.relist("messages were dropped")
	case bus.Lost, bus.Denied:
	}
}

// follow lists and then follows until something asks for a new listing; the reason is returned.
func (f *Feed) follow(ctx context.Context) (string, error) {
	select {
	case <-f.again: // this is the listing that was asked for
	default:
	}
	w := &watcher{feed: f, stop: make(chan string, 1), next: 1}
	consumer, err := w.open(ctx)
	f.patience.Learn(err)
	if err != nil {
		return "", err
	}
	consuming, err := consumer.consume(w.handle, func(_ jetstream.ConsumeContext, err error) {
		w.leave(fmt.Sprintf("watcher reports: %v", err))
	})
	if err != nil {
		return "", fmt.Errorf("following: %w", err)
	}
	defer w.close(consuming)
	return w.wait(ctx, consumer)
}

// watcher is one consumer of a feed, from its listing to its end.
type watcher struct {
	feed   *Feed
	stop   chan string
	copies int    // replicas of the stream
	next   uint64 // consumer sequence to come
	seen   uint64 // stream sequence of the newest message that came
	due    uint64 // stream sequence that belongs to the listing
	listed bool
	closed bool
}

func (w *watcher) open(ctx context.Context) (feedConsumer, error) {
	f := w.feed
	ctx, cancel := f.patience.Within(ctx)
	defer cancel()
	f.mu.Lock()
	f.sink.begin()
	f.mu.Unlock()
	stream, err := f.conn.JS.Stream(ctx, f.from.stream)
	if err != nil {
		return nil, fmt.Errorf("looking at the stream: %w", err)
	}
	info := stream.CachedInfo()
	w.copies = info.Config.Replicas
	due, err := w.newest(ctx)
	if err != nil {
		return nil, err
	}
	consumer, err := f.consumer(ctx, stream)
	if err != nil {
		return nil, fmt.Errorf("making the watcher: %w", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sink.opened(listing{last: info.State.LastSeq, broker: info.TimeStamp, local: time.Now()})
	w.due = due
	if consumer.CachedInfo().NumPending == 0 {
		w.done()
	}
	return consumer, nil
}

// newest is the sequence of the newest message that the watcher is to get, by the stream's leader. The
// watcher itself may live with a replica that is behind, for which nothing is pending while something is.
// Of a stream without replicas it is 0: there is nothing to be behind of.
func (w *watcher) newest(ctx context.Context) (uint64, error) {
	if w.copies <= 1 {
		return 0, nil
	}
	var newest uint64
	for _, filter := range w.feed.from.filters {
		m, err := w.feed.conn.LastMessage(ctx, w.feed.from.stream, filter)
		if err != nil {
			return 0, fmt.Errorf("looking at the newest message: %w", err)
		}
		if m != nil {
			newest = max(newest, m.Sequence)
		}
	}
	return newest, nil
}

// handle takes one message on the goroutine of the subscription.
func (w *watcher) handle(m jetstream.Msg) {
	meta, err := m.Metadata()
	if err != nil {
		w.leave(fmt.Sprintf("message without metadata: %v", err))
		return
	}
	f := w.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	if w.closed {
		return
	}
	if meta.Sequence.Consumer != w.next {
		w.leave(fmt.Sprintf("gap: message %d came for %d", meta.Sequence.Consumer, w.next))
		return
	}
	w.next++
	w.seen = max(w.seen, meta.Sequence.Stream)
	if key, ok := f.from.key(m.Subject()); ok {
		f.sink.message(Message{
			Key: key, Value: liveValue(m), Sequence: meta.Sequence.Stream, stored: meta.Timestamp, replayed: !w.listed,
			Note: m.Headers().Get(bus.HeaderNote), tally: m.Headers().Get(bus.HeaderTally),
		})
	}
	if meta.NumPending == 0 {
		w.done()
	}
}

// done ends the listing once all that is due came; the feed's lock is held.
func (w *watcher) done() {
	if !w.listed && w.seen >= w.due {
		w.listed = true
		w.feed.sink.listed()
	}
}

// leave ends wait with a reason; the first one counts.
func (w *watcher) leave(reason string) {
	select {
	case w.stop <- reason:
	default:
	}
}

func (w *watcher) wait(ctx context.Context, consumer feedConsumer) (string, error) {
	hourly := time.NewTimer(relistEvery)
	defer hourly.Stop()
	stall := time.NewTicker(stallCheck)
	defer stall.Stop()
	for {
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case reason := <-w.stop:
			return reason, nil
		case reason := <-w.feed.again:
			return reason, nil
		case <-hourly.C:
			return "an hour went by", nil
		case <-stall.C:
			done, err := w.checkStall(ctx, consumer)
			if err != nil {
				return "", err
			}
			if done {
				stall.Stop()
			}
		}
	}
}

// checkStall ends a listing whose last message was replaced or purged before it was delivered: then no
// message says that none is pending.
func (w *watcher) checkStall(ctx context.Context, consumer feedConsumer) (bool, error) {
	w.feed.mu.Lock()
	listed := w.listed
	w.feed.mu.Unlock()
	if listed {
		return true, nil
	}
	ctx, cancel := context.WithTimeout(ctx, bus.AskTimeout)
	defer cancel()
	due, err := w.newest(ctx)
	if err != nil {
		return false, err
	}
	info, err := consumer.Info(ctx)
	if err != nil {
		return false, fmt.Errorf("looking at the watcher: %w", err)
	}
	w.feed.mu.Lock()
	defer w.feed.mu.Unlock()
	w.due = due
	if info.NumPending == 0 && info.Delivered.Consumer+1 == w.next {
		w.done()
	}
	return w.listed, nil
}

func (w *watcher) close(consuming jetstream.ConsumeContext) {
	w.feed.mu.Lock()
	w.closed = true
	w.feed.mu.Unlock()
	consuming.Stop()
}

// liveValue is the value of a message, nil for a marker that says the key is gone.
func liveValue(m jetstream.Msg) []byte {
	if bus.IsMarker(m.Headers()) {
		return nil
	}
	if value := m.Data(); value != nil {
		return value
	}
	return []byte{}
}
