package turns

import (
	"context"
	"fmt"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// mostAnswers is how many bytes of objects the answers that are under way hold at most, and those of one person a quarter.
const mostAnswers = 128 << 20

// Turn is one request or watch of a person, with what its answer holds.
type Turn struct {
	of     *Turns
	person string
	bytes  int64 // of the room for answers
}

// Hold waits until there is room for an answer that holds so many bytes, and has it until the turn ends. An answer that holds more than
// one person may waits until it is the only one of theirs. Where ctx ends before, the error is a refusal as the Kubernetes API gives it.
func (t *Turn) Hold(ctx context.Context, bytes int64) error {
	bytes = min(bytes, t.of.answers.ofOne-t.bytes)
	if err := t.of.answers.enter(ctx, t.person, bytes); err != nil {
		return err
	}
	t.bytes += bytes
	return nil
}

// Leave ends the turn.
func (t *Turn) Leave() {
	t.of.answers.leave(t.person, t.bytes)
	t.of.left(t.person)
}

// room is for so many bytes at once, of one person and of all.
type room struct {
	ofOne, most int64

	mu      sync.Mutex
	people  map[string]int64
	all     int64
	waiting []*guest // who came first is first
}

// guest waits for room.
type guest struct {
	person string
	bytes  int64
	in     chan struct{}
}

func newRoom(ofOne, most int64) *room {
	return &room{ofOne: ofOne, most: most, people: map[string]int64{}}
}

// enter waits for room until ctx ends.
func (r *room) enter(ctx context.Context, person string, bytes int64) error {
	g := &guest{person, bytes, make(chan struct{})}
	r.mu.Lock()
	r.waiting = append(r.waiting, g)
	r.admit()
	r.mu.Unlock()
	select {
	case <-g.in:
		return nil
	case <-ctx.Done():
		return r.refuse(g)
	}
}

// refuse says that a guest waited in vain, unless they were let in by now.
func (r *room) refuse(g *guest) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := slices.Index(r.waiting, g)
	if at < 0 {
		return nil
	}
	r.waiting = slices.Delete(r.waiting, at, at+1)
	r.admit() // who waited behind them
	return apierrors.NewTooManyRequests(fmt.Sprintf(
		"found answers under way that hold %d bytes of %s and %d of all, expected room for %d more below %d and %d: take those first, or ask for less at once",
		r.people[g.person], g.person, r.all, g.bytes, r.ofOne, r.most), RetryAfter)
}

// leave gives room back.
func (r *room) leave(person string, bytes int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all -= bytes
	if r.people[person] -= bytes; r.people[person] == 0 {
		delete(r.people, person)
	}
	r.admit()
}

// admit lets in who waits, in their order. Who has no room because of what they hold themselves holds up nobody but themselves.
func (r *room) admit() {
	full := false
	behind := map[string]bool{}
	r.waiting = slices.DeleteFunc(r.waiting, func(g *guest) bool {
		switch {
		case full || behind[g.person]:
			return false
		case r.people[g.person]+g.bytes > r.ofOne:
			behind[g.person] = true
			return false
		case r.all+g.bytes > r.most:
			full = true
			return false
		}
		r.all += g.bytes
		r.people[g.person] += g.bytes
		close(g.in)
		return true
	})
}
