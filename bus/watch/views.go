package watch

import "sync"

// Views remember what a room last saw of each member, so that it looks only at what is news. The zero
// value has seen nothing.
type Views[V comparable] struct {
	mu   sync.Mutex
	last map[string]V
}

// News keeps a view and says whether it differs from the last one of that member. What is not whole, as of
// a member that cannot be read or is gone, is news and not kept: so is whatever comes next.
func (v *Views[V]) News(member string, view V, whole bool) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	before, known := v.last[member]
	if !whole {
		delete(v.last, member)
		return true
	}
	if v.last == nil {
		v.last = map[string]V{}
	}
	v.last[member] = view
	return !known || before != view
}
