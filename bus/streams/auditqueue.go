package streams

import (
	"fmt"
	"sync"

	"flotilla/core/api"
)

// auditQueue is how many events wait at most of what the hub does by itself. Those of people find room beyond it, so that no event of
// theirs is lost: while twice as many wait, what people ask for is refused before it is done.
const auditQueue = 8192

// auditEased is how many events wait at most when who writes much may go on: what comes next then finds room beside those of others.
const auditEased = auditQueue / 4

// queued is an event that waits to be published, and, unless nil, for whether it happened.
type queued struct {
	event    api.Audit
	happened <-chan bool
}

// eventQueue holds events in the order in which they came.
type eventQueue struct {
	mu      sync.Mutex
	waiting []queued
	closed  bool          // nothing is announced any more
	came    chan struct{} // holds one when an event may wait
	eased   chan struct{} // closed once few events wait; nil while nobody waits for that
}

func newEventQueue() *eventQueue { return &eventQueue{came: make(chan struct{}, 1)} }

// ofPerson says that an event tells what a person asked for.
func ofPerson(e *api.Audit) bool { return e.Request != "" }

// put appends an event and reports whether there was room for it.
func (q *eventQueue) put(one queued) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) >= auditQueue && !ofPerson(&one.event) {
		return false
	}
	q.waiting = append(q.waiting, one)
	select {
	case q.came <- struct{}{}:
	default:
	}
	return true
}

// take removes the oldest event, if any waits.
func (q *eventQueue) take() (one queued, found bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		q.waiting = nil
		return queued{}, false
	}
	one, q.waiting[0] = q.waiting[0], queued{}
	q.waiting = q.waiting[1:]
	if len(q.waiting) <= auditEased {
		q.ease()
	}
	return one, true
}

// ease lets those go on who wait until few events wait; the lock is held.
func (q *eventQueue) ease() {
	if q.eased != nil {
		close(q.eased)
		q.eased = nil
	}
}

// easing is closed once few events wait, or nothing is announced any more; nil where that is so already.
func (q *eventQueue) easing() <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed || len(q.waiting) <= auditEased {
		return nil
	}
	if q.eased == nil {
		q.eased = make(chan struct{})
	}
	return q.eased
}

// close has everything refused that would be announced from now on.
func (q *eventQueue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.ease()
}

// refuse is why nothing is done now that people ask for; nil where their events find room, and are published.
func (q *eventQueue) refuse() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closed:
		return &api.Failure{Code: api.CodeUnavailable, Message: "nothing was done: this hub does not lead any more: ask again"}
	case len(q.waiting) < 2*auditQueue:
		return nil
	}
	return &api.Failure{
		Code: api.CodeUnavailable, Next: "flotilla status",
		Message: fmt.Sprintf("nothing was done: %d events wait to be stored, and what people do is not done without one: ask again", len(q.waiting)),
	}
}
