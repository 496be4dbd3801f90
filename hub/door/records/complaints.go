package records

import "sync"

// Complaints remember what was told of records that cannot be read, so that it is told once for each revision. Their
// methods may be called from any goroutine.
type Complaints struct {
	mu   sync.Mutex
	told map[string]uint64 // revision by object
}

// First reports whether nothing was told of an object at a revision yet, and notes that it is now.
func (c *Complaints) First(object string, revision uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.told == nil {
		c.told = map[string]uint64{}
	}
	if c.told[object] == revision {
		return false
	}
	c.told[object] = revision
	return true
}
