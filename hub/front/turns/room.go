package turns

import (
	"context"
	"fmt"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Room is what requests hold bytes of while they are worked on. They take it in this order, so that none waits for who waits for it.
type Room int

// Rooms for what was sent, for what became of it, and for the objects of answers.
const (
	Sent Room = iota
	Decoded
	Answered
	countRooms
)

type rooms [countRooms]*room

// mostHeld is how many bytes there are of a room at most, of which one person has a quarter.
const mostHeld = 128 << 20

// room is for so many bytes at once, of one request, of one person and of all.
type room struct {
	what              string
	once, ofOne, most int64

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

// newRoom is for so many of a person at once that hold the most that one request may.
func newRoom(what string, atOnce int64) *room {
	const ofOne = mostHeld / partOfOne
	return &room{what: what, once: ofOne / atOnce, ofOne: ofOne, most: mostHeld, people: map[string]int64{}}
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
		"found %s under way that hold %d bytes of %s and %d of all, expected room for %d more below %d and %d: end those first, or ask for less at once",
		r.what, r.people[g.person], g.person, r.all, g.bytes, r.ofOne, r.most), RetryAfter)
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
