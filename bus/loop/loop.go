// Package loop is a queue of keys for rooms: what to look at again, and when.
//
// A room adds keys from its watch callbacks and runs a function for each. Keys that wait are
// coalesced; one key is never worked on twice at once; a key can ask to be looked at again at a time;
// errors back off with jitter. Nothing in it is NATS, and nothing in it blocks but Run and what Start returns. Backoff is for those who try
// one thing again, without a queue.
package loop

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// Work looks at one key. A zero recheck means: only when woken. After an error, which Options.Failed
// is told of, the key is looked at again after a growing delay, and recheck is ignored.
type Work func(ctx context.Context, key string) (recheck time.Time, err error)

// Options tune a Queue. The zero value has 1 worker and delays from 50 ms to 30 s.
type Options struct {
	// Workers run at once, each on another key.
	Workers int
	// MinDelay and MaxDelay bound the delay after errors; it doubles with each in a row.
	MinDelay, MaxDelay time.Duration
	// Jitter returns a number in [0, 1), by which up to half of a delay is taken off; nil is random.
	Jitter func() float64
	// Now is the clock that the times of keys are of, the machine's when nil.
	Now func() time.Time
	// Failed is told of every error and of the delay that follows. It is not told of errors that the
	// end of the context caused.
	Failed func(key string, err error, delay time.Duration)
	// Runs is told of every key before Work is; several workers may call it at once.
	Runs func(key string)
}

func (o Options) withDefaults() Options {
	if o.Workers <= 0 {
		o.Workers = 1
	}
	if o.MinDelay <= 0 {
		o.MinDelay = firstWait
	}
	if o.MaxDelay <= 0 {
		o.MaxDelay = 30 * time.Second
	}
	if o.Jitter == nil {
		o.Jitter = rand.Float64
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Failed == nil {
		o.Failed = func(string, error, time.Duration) {}
	}
	if o.Runs == nil {
		o.Runs = func(string) {}
	}
	return o
}

// Queue is a set of keys that wait for work. Make it with New.
type Queue struct {
	o Options

	mu      sync.Mutex
	waiting []string // first come, first served
	items   map[string]*item
	timers  uint64 // started so far
	hire    func() // starts a worker; nil before Run
	working int    // workers that were started and have not ended
	stopped bool
}

// item is what the queue knows of one key; a key that nothing is known of has none.
type item struct {
	waiting bool
	running bool
	again   bool // woken while running
	retry   Backoff
	timer   *time.Timer
	due     time.Time // of timer, by the machine's clock
	serial  uint64    // of timer
}

// New returns an empty queue. Keys may be added before Run.
func New(o Options) *Queue {
	return &Queue{o: o.withDefaults(), items: map[string]*item{}}
}

// Add wakes a key now. A key that is being worked on is looked at once more after.
func (q *Queue) Add(key string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.add(q.item(key), key)
}

// AddAt wakes a key at t, a time of Options.Now; the earliest of several times wins.
func (q *Queue) AddAt(key string, t time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.addAt(q.item(key), key, t)
}

// Len is the number of keys waiting for a worker.
func (q *Queue) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting)
}

// Run is Start, and returns when the workers have.
func (q *Queue) Run(ctx context.Context, work Work) { q.Start(ctx, work)() }

// Start works until ctx ends; wait returns when the workers have, after that. It is called once. A worker begins when a
// key waits and ends when none does, so that a queue without work is no goroutine, whatever Options.Workers says.
func (q *Queue) Start(ctx context.Context, work Work) (wait func()) {
	var workers sync.WaitGroup
	q.open(func() { workers.Go(func() { q.worker(ctx, work) }) })
	stopped := make(chan struct{})
	context.AfterFunc(ctx, func() { q.stop(); close(stopped) })
	return func() { <-stopped; workers.Wait() }
}

// open has keys worked on, those that wait already too.
func (q *Queue) open(hire func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.hire = hire
	for range q.waiting {
		q.staff()
	}
}

// staff starts a worker, unless there are as many as may be; the lock is held.
func (q *Queue) staff() {
	if q.hire == nil || q.working == q.o.Workers {
		return
	}
	q.working++
	q.hire()
}

func (q *Queue) worker(ctx context.Context, work Work) {
	for {
		key, ok := q.next()
		if !ok {
			return
		}
		q.o.Runs(key)
		recheck, err := work(ctx, key)
		q.done(ctx, key, recheck, err)
	}
}

// next takes a key and marks it as running; false when none waits, or the queue has stopped: the worker who asked is
// counted no more.
func (q *Queue) next() (string, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 || q.stopped {
		q.working--
		return "", false
	}
	key := q.waiting[0]
	q.waiting = q.waiting[1:]
	it := q.items[key]
	it.waiting, it.running = false, true
	it.cancel()
	return key, true
}

func (q *Queue) done(ctx context.Context, key string, recheck time.Time, err error) {
	if err != nil && ctx.Err() != nil {
		return
	}
	delay := q.settle(key, recheck, err)
	if err != nil {
		q.o.Failed(key, err, delay)
	}
}

// settle decides when a key that was worked on is looked at again, and returns the delay after an error.
func (q *Queue) settle(key string, recheck time.Time, err error) (delay time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	it := q.items[key]
	it.running = false
	switch {
	case err != nil:
		delay = it.retry.Next()
		delay -= time.Duration(q.o.Jitter() * float64(delay) / 2)
		if it.again {
			delay = min(delay, q.o.MinDelay)
		}
		it.again = false
		q.addAfter(it, key, delay)
	case it.again:
		it.retry.Reset()
		it.again = false
		q.add(it, key)
	default:
		it.retry.Reset()
	}
	if err == nil && !recheck.IsZero() {
		q.addAt(it, key, recheck)
	}
	if !it.waiting && it.timer == nil {
		delete(q.items, key)
	}
	return delay
}

func (q *Queue) item(key string) *item {
	it := q.items[key]
	if it == nil {
		it = &item{retry: Backoff{First: q.o.MinDelay, Most: q.o.MaxDelay}}
		q.items[key] = it
	}
	return it
}

func (q *Queue) add(it *item, key string) {
	switch {
	case q.stopped || it.waiting:
	case it.running:
		it.again = true
	default:
		it.waiting = true
		q.waiting = append(q.waiting, key)
		q.staff()
	}
}

func (q *Queue) addAt(it *item, key string, t time.Time) {
	q.addAfter(it, key, t.Sub(q.o.Now()))
}

func (q *Queue) addAfter(it *item, key string, delay time.Duration) {
	due := time.Now().Add(delay)
	if q.stopped || it.timer != nil && !due.Before(it.due) {
		return
	}
	it.cancel()
	q.timers++
	serial := q.timers
	it.due, it.serial = due, serial
	it.timer = time.AfterFunc(delay, func() { q.fire(key, serial) })
}

// fire is a timer's end. A timer that was replaced in the meantime does nothing.
func (q *Queue) fire(key string, serial uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	it := q.items[key]
	if it == nil || it.timer == nil || it.serial != serial {
		return
	}
	it.timer = nil
	q.add(it, key)
}

func (it *item) cancel() {
	if it.timer != nil {
		it.timer.Stop()
		it.timer = nil
	}
}

func (q *Queue) stop() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.stopped = true
	for _, it := range q.items {
		it.cancel()
	}
}
