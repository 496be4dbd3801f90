package page

import "sync"

// crowd counts the streams of each person.
type crowd struct {
	mu  sync.Mutex
	of  map[string]int
	all int
}

// enter counts one more of a person until leave is called; false where there are too many.
func (c *crowd) enter(person string) (leave func(), room bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all >= mostStreams || c.of[person] >= mostOfOne {
		return nil, false
	}
	if c.of == nil {
		c.of = map[string]int{}
	}
	c.all++
	c.of[person]++
	return func() { c.leave(person) }, true
}

func (c *crowd) leave(person string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all--
	if c.of[person]--; c.of[person] == 0 {
		delete(c.of, person)
	}
}
