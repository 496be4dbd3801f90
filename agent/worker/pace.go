package worker

import (
	"math/rand/v2"
	"sync"
	"time"
)

// kind of wait until a placement is looked at again.
type wait int

const (
	steady   wait = iota // all is well: a safety net, since the target tells what changes
	watching             // applied, not available yet
	retrying             // something failed or is missing
)

// rhythm is how long the first wait of a kind is, by what it grows, and to what.
type rhythm struct {
	first, most time.Duration
	growth      float64
}

// pace decides when to look at a placement again; waits of one kind in a row grow.
type pace struct {
	rhythms map[wait]rhythm

	mu    sync.Mutex
	rows  map[string]row
	shake func() float64 // in [0, 1)
}

type row struct {
	kind wait
	mark string
	wait time.Duration
}

// newPace takes how long a placement that is well is left alone.
func newPace(idle time.Duration) *pace {
	return &pace{
		rhythms: map[wait]rhythm{
			steady:   {first: idle, most: idle, growth: 1},
			watching: {first: time.Second, most: 15 * time.Second, growth: 1.5},
			retrying: {first: 500 * time.Millisecond, most: time.Minute, growth: 2},
		},
		rows: map[string]row{}, shake: rand.Float64,
	}
}

// next returns the wait. It begins anew when the kind or the mark, which says what is waited for,
// differs from the last one.
func (p *pace) next(placement string, kind wait, mark string) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	r, last := p.rhythms[kind], p.rows[placement]
	next := row{kind: kind, mark: mark, wait: r.first}
	if last.kind == kind && last.mark == mark && last.wait > 0 {
		next.wait = min(time.Duration(float64(last.wait)*r.growth), r.most)
	}
	p.rows[placement] = next
	return next.wait - time.Duration(p.shake()*float64(next.wait)/5)
}

func (p *pace) forget(placement string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.rows, placement)
}
