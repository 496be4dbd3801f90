// Package lines bounds the log lines that others cause, such as members that send what cannot be read, so that none of them fills the disk of the
// log, or hides in it what somebody else causes.
package lines

import (
	"sync"
	"time"

	"github.com/rs/zerolog"

	"flotilla/core/pace"
)

// of is how many lines one who causes them has: 20 at once, and one in 10 s after that.
var of = pace.Rate{Burst: 20, Every: 10 * time.Second}

// mostKept is how many who cause lines are told apart.
const mostKept = 4096

// Bound counts the lines of each who causes them. It may be used from any goroutine; the zero value counts by the machine's clock.
type Bound struct {
	Now func() time.Time

	mu    sync.Mutex
	kept  map[string]*count
	swept time.Time
}

type count struct {
	pace.Bucket
	leftOut int
}

// Of begins a line that somebody causes, or returns nil, which logs nothing, where they caused too many of late. Their next line says how many
// were left out, unless they are forgotten meanwhile.
func (b *Bound) Of(who string, begin func() *zerolog.Event) *zerolog.Event {
	leftOut, logs := b.count(who)
	switch {
	case !logs:
		return nil
	case leftOut > 0:
		return begin().Int("leftOut", leftOut)
	}
	return begin()
}

func (b *Bound) count(who string) (leftOut int, logs bool) {
	now := time.Now()
	if b.Now != nil {
		now = b.Now()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.find(who, now)
	if !of.Take(&c.Bucket, now) {
		c.leftOut++
		return 0, false
	}
	leftOut, c.leftOut = c.leftOut, 0
	return leftOut, true
}

// find is the count of somebody. Where too many are told apart those are forgotten who caused nothing of late; those beyond share one.
func (b *Bound) find(who string, now time.Time) *count {
	if c := b.kept[who]; c != nil {
		return c
	}
	if b.kept == nil {
		b.kept = map[string]*count{}
	}
	if len(b.kept) >= mostKept {
		b.sweep(now)
	}
	if len(b.kept) >= mostKept {
		who = ""
	}
	if b.kept[who] == nil {
		b.kept[who] = &count{}
	}
	return b.kept[who]
}

// sweep looks no more often than once for each line that one may have after others, as a flood of strangers would have it look each time.
func (b *Bound) sweep(now time.Time) {
	if now.Sub(b.swept) < of.Every && !now.Before(b.swept) {
		return
	}
	b.swept = now
	for who, c := range b.kept {
		if c.Full(now) {
			delete(b.kept, who)
		}
	}
}
