package front

import (
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// How many watch at once, of one person and of all.
const (
	mostWatchesOfOne = 1024
	mostWatches      = 8192
)

// crowd counts who watches.
type crowd struct {
	mu     sync.Mutex
	people map[string]int
	all    int
}

// enter counts one more watch of a person, until leave is called.
func (c *crowd) enter(person string) (leave func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.people[person] >= mostWatchesOfOne || c.all >= mostWatches {
		return nil, apierrors.NewTooManyRequests(
			fmt.Sprintf("found %d watches of %s and %d of all, expected fewer than %d and %d: end some", c.people[person], person, c.all, mostWatchesOfOne, mostWatches), retryAfter)
	}
	if c.people == nil {
		c.people = map[string]int{}
	}
	c.all++
	c.people[person]++
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.all--
		if c.people[person]--; c.people[person] == 0 {
			delete(c.people, person)
		}
	}, nil
}
