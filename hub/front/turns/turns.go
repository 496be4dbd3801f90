// Package turns bounds what people do with the Kubernetes API at once: one person no more than a part of what all may.
package turns

import (
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// RetryAfter is in how many seconds a client asks again that was refused, or while no hub leads.
const RetryAfter = 1

const (
	// At most so many requests are worked on at once, of those that read and of those that write, and of one person a quarter.
	mostReading, mostWriting, partOfOne = 400, 200, 4
	// At most so many watch at once, of one person and of all.
	mostWatchesOfOne, mostWatches = 1024, 8192
	// At most so many requests are worked on of which it is not known yet whose they are, from one network and from all. One
	// connection of HTTP/2 has 250.
	mostArrivingOfOne, mostArriving = 512, 2048
)

// All are the turns of a hub: to watch, to read and to write, of people; and to arrive, of networks, until it is known whose a request is.
type All struct{ Watching, Reading, Writing, Arriving *Turns }

// NewAll returns turns that nobody has.
func NewAll() *All {
	all := &rooms{Sent: newRoom("bodies", 1), Decoded: newRoom("decoded bodies", 1), Answered: newRoom("answers", 2)}
	return &All{
		Watching: newTurns("watches", mostWatchesOfOne, mostWatches, all),
		Reading:  newTurns("reading requests", mostReading/partOfOne, mostReading, all),
		Writing:  newTurns("writing requests", mostWriting/partOfOne, mostWriting, all),
		Arriving: newTurns("requests under way without a known person", mostArrivingOfOne, mostArriving, all),
	}
}

// Turns are what people do at once, of one kind.
type Turns struct {
	what        string
	ofOne, most int
	rooms       *rooms

	mu     sync.Mutex
	people map[string]int
	all    int
}

func newTurns(what string, ofOne, most int, all *rooms) *Turns {
	return &Turns{what: what, ofOne: ofOne, most: most, rooms: all, people: map[string]int{}}
}

// Enter counts one more of a person, until they leave. The error is a refusal as the Kubernetes API gives it.
func (c *Turns) Enter(person string) (*Turn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.people[person] >= c.ofOne || c.all >= c.most {
		return nil, apierrors.NewTooManyRequests(
			fmt.Sprintf("found %d %s of %s and %d of all, expected fewer than %d and %d: end some", c.people[person], c.what, person, c.all, c.ofOne, c.most), RetryAfter)
	}
	c.all++
	c.people[person]++
	return &Turn{of: c, person: person, works: 1}, nil
}

func (c *Turns) left(person string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all--
	if c.people[person]--; c.people[person] == 0 {
		delete(c.people, person)
	}
}
