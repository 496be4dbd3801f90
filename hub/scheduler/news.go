package scheduler

import "sync"

// news are the members whose records changed and that the fleet does not show yet. A decision takes
// them in first, so that it never starts from a fleet older than the placement it decides.
type news struct {
	following sync.Mutex // held while the fleet is brought in step

	mu    sync.Mutex
	names map[string]bool
}

func (n *news) add(member string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.names == nil {
		n.names = map[string]bool{}
	}
	n.names[member] = true
}

// take empties the set.
func (n *news) take() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	names := make([]string, 0, len(n.names))
	for name := range n.names {
		names = append(names, name)
	}
	clear(n.names)
	return names
}
