package places

import "sync"

// mostRepeats is how many tries of one request are answered, the newest: a client listens to its last one.
const mostRepeats = 4

// Repeats are the requests of some kind R that wait or run, told apart by keys, each with its tries: a client asks again after
// a while, and what was begun goes on. Its methods may be called from any goroutine.
type Repeats[K comparable, R any] struct {
	mu      sync.Mutex
	running map[K]*Tries[K, R]
}

// Tries of one request.
type Tries[K comparable, R any] struct {
	of  K
	all []R // oldest first
}

// Alone is the only try of a request that is never repeated.
func (r *Repeats[K, R]) Alone(request R) *Tries[K, R] { return &Tries[K, R]{all: []R{request}} }

// Join adds a try; first says that it is the only one, so that the request has to be worked on.
func (r *Repeats[K, R]) Join(key K, request R) (t *Tries[K, R], first bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t = r.running[key]; t != nil {
		t.all = append(t.all, request)
		t.all = t.all[max(0, len(t.all)-mostRepeats):]
		return t, false
	}
	if r.running == nil {
		r.running = map[K]*Tries[K, R]{}
	}
	t = &Tries[K, R]{key, []R{request}}
	r.running[key] = t
	return t, true
}

// End returns the tries of a request that are answered now: one that comes later is a request of its own.
func (r *Repeats[K, R]) End(t *Tries[K, R]) []R {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running[t.of] == t {
		delete(r.running, t.of)
	}
	return t.all
}
