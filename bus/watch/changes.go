package watch

import "sync"

// Changes are what was heard of since it was taken last, by key: everything of it may be different, or what
// some members say of it. The zero value is empty.
type Changes struct {
	mu   sync.Mutex
	held map[string]*change
}

type change struct {
	whole   bool
	members map[string]struct{}
}

// Whole says that everything of a key may be different.
func (c *Changes) Whole(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at(key).whole, c.at(key).members = true, nil
}

// Of says that what a member says of a key may be different.
func (c *Changes) Of(key, member string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.at(key)
	if at.whole {
		return
	}
	if at.members == nil {
		at.members = map[string]struct{}{}
	}
	at.members[member] = struct{}{}
}

func (c *Changes) at(key string) *change {
	if c.held == nil {
		c.held = map[string]*change{}
	}
	if c.held[key] == nil {
		c.held[key] = &change{}
	}
	return c.held[key]
}

// Take returns what changed of a key, and forgets it: all of it, or these members of it.
func (c *Changes) Take(key string) (whole bool, members map[string]struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.held[key]
	if at == nil {
		return false, nil
	}
	delete(c.held, key)
	return at.whole, at.members
}
