// Package loop is a queue of keys for rooms: what to look at again, and when.
//
// A room adds keys from its watch callbacks and runs a function for each. Keys that wait are
// coalesced; one key is never worked on twice at once; a key can ask to be looked at again at a time;
// errors back off with jitter. Nothing in it is NATS.
package loop

import (
	"context"
	"time"
)

// Work looks at one key. A zero recheck means: only when woken. An error is logged through
// Options.Failed and the key is looked at again after a growing delay.
type Work func(ctx context.Context, key string) (recheck time.Time, err error)

// Options tune a Queue. The zero value has 1 worker, delays from 50 ms to 30 s, full jitter.
type Options struct {
	// Workers run at once, each on another key.
	Workers int
	// MinDelay and MaxDelay bound the delay after errors.
	MinDelay, MaxDelay time.Duration
	// Jitter returns a number in [0, 1); nil uses math/rand.
	Jitter func() float64
	// Failed is told of every error and the delay that follows.
	Failed func(key string, err error, delay time.Duration)
}

// Queue is a set of keys that wait for work.
type Queue struct{}

// New returns an empty queue.
func New(o Options) *Queue { return &Queue{} }

// Add wakes a key now. It never blocks. A key that is being worked on is looked at once more after.
func (q *Queue) Add(key string) {}

// AddAt wakes a key at t; the earliest of several times wins.
func (q *Queue) AddAt(key string, t time.Time) {}

// Len is the number of keys waiting for a worker.
func (q *Queue) Len() int { return 0 }

// Run works until ctx ends and returns when its workers have.
func (q *Queue) Run(ctx context.Context, work Work) { <-ctx.Done() }
