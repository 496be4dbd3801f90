package reporter

import (
	"maps"
	"slices"
	"sync"
)

// answers is who has a result of which placement; bucket result is keyed by member first.
type answers struct {
	mu sync.Mutex
	of map[string]map[string]struct{} // members by placement
}

func newAnswers() *answers { return &answers{of: map[string]map[string]struct{}{}} }

// note enters that a result exists, or does not any more.
func (a *answers) note(member, placement string, exists bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !exists {
		delete(a.of[placement], member)
		if len(a.of[placement]) == 0 {
			delete(a.of, placement)
		}
		return
	}
	if a.of[placement] == nil {
		a.of[placement] = map[string]struct{}{}
	}
	a.of[placement][member] = struct{}{}
}

// to are the members with a result of a placement, sorted.
func (a *answers) to(placement string) []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Sorted(maps.Keys(a.of[placement]))
}
