package loop

import (
	"maps"
	"slices"
	"sync"
)

// Names are what is still to be looked at, none twice. The zero value has none; it is safe for concurrent use.
type Names struct {
	mu  sync.Mutex
	all map[string]bool
}

// Add has a name among them.
func (n *Names) Add(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.all == nil {
		n.all = map[string]bool{}
	}
	n.all[name] = true
}

// Remove has a name not among them.
func (n *Names) Remove(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.all, name)
}

// List is all of them, in no order.
func (n *Names) List() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Collect(maps.Keys(n.all))
}

// Take is List, and none are left.
func (n *Names) Take() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	names := slices.Collect(maps.Keys(n.all))
	clear(n.all)
	return names
}
