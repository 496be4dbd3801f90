package watch

import (
	"context"
	"sync"
	"time"
)

// passes count the listings that a sink takes in, and say whether the sink is whole: whether it had all
// that is stored since something may have been missed. The lock of the sink guards all but waitWhole.
type passes struct {
	current listing
	round   uint64 // of listings, from 1
	newest  uint64 // sequence taken in
	before  uint64 // newest when the listing began
	needed  uint64 // round from which on the sink is whole again
	synced  bool
	// ready is closed, and told is true, once synced was told to those who wait: after all that the
	// listing changed was reported.
	ready chan struct{}
	told  bool
	// readable is when the source could last be read again after it could not.
	readable time.Time
}

func newPasses() passes { return passes{ready: make(chan struct{})} }

// next says that a listing is about to be made.
func (p *passes) next() {
	p.round++
	p.before = p.newest
}

// against notes the listing. It returns true when the stream's newest sequence is below what was seen of
// it: it has lost writes, and whatever it lists now counts, however low its sequence. Until all of that came, the
// sink holds what was once beside what is.
func (p *passes) against(l listing) (lostWrites bool) {
	p.current = l
	if l.last >= p.before {
		return false
	}
	p.newest = l.last
	p.doubt(p.round)
	return true
}

// end says that all of the listing came.
func (p *passes) end() {
	if !p.synced && p.round >= p.needed {
		p.synced = true
		p.readable = time.Now()
	}
}

// tell wakes who waits for the sink to be whole, if it still is.
func (p *passes) tell() {
	if p.synced && !p.told {
		p.told = true
		close(p.ready)
	}
}

// miss says that something may be missed until a listing that is yet to begin.
func (p *passes) miss() { p.doubt(p.round + 1) }

// doubt says that the sink is not whole before the listing of a round came.
func (p *passes) doubt(round uint64) {
	p.needed = max(p.needed, round)
	p.synced = false
	if p.told {
		p.told = false
		p.ready = make(chan struct{})
	}
}

// waitWhole returns when the sink is whole, or with ctx's error; lock guards the passes.
func (p *passes) waitWhole(ctx context.Context, lock sync.Locker) error {
	for {
		lock.Lock()
		whole, ready := p.synced && p.told, p.ready
		lock.Unlock()
		if whole {
			return nil
		}
		select {
		case <-ready:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
