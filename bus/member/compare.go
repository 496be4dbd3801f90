package member

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"

	"flotilla/bus/loop"
)

// doubt has every slot compared with what the server has.
func (r *results) doubt() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.slots {
		r.suspect(s, 0)
	}
}

// reconnected has slots compared with what the server has: those that have news at once, and soon the one that was stored
// last. A server that lost its last writes lost that first, and then all are compared; else they are within a minute, since
// a file that is damaged may have cost it others.
func (r *results) reconnected() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	newest := r.newest()
	for _, s := range r.slots {
		switch {
		case s.told != s.version || s.failed != nil:
			r.suspect(s, 0)
		case newest == nil || newest == s || !s.known:
			r.suspect(s, rand.N(r.spread))
		}
	}
	if r.later != nil {
		r.later.Stop()
	}
	r.later = time.AfterFunc(loop.Spread(r.rest), r.doubt)
}

// newest is the slot that was stored last, nil when the server has none; the lock is held.
func (r *results) newest() *slot {
	last := slices.MaxFunc(r.slots[:], func(a, b *slot) int { return cmp.Compare(a.at, b.at) })
	if last.at == 0 {
		return nil
	}
	return last
}

// doubtOthers has all slots but one compared, soon: the server lost what it had of that one.
func (r *results) doubtOthers(lost *slot) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.slots {
		if s != lost {
			s.at = 0 // whether it is lost too is no news then
			r.suspect(s, rand.N(r.spread))
		}
	}
}

// suspect has a slot compared with what the server has; the lock is held.
func (r *results) suspect(s *slot, after time.Duration) {
	s.known = false
	s.doubts++
	r.wake(s, after)
}
