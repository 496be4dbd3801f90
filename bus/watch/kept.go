package watch

import "sync"

// Kept is what a room keeps of each thing that it looks at, by key; what is kept of one is for whoever looks at it.
// The zero value is empty.
type Kept[V any] struct {
	mu   sync.Mutex
	held map[string]*V
}

// Of returns what is kept of a key: a zero value where there was nothing.
func (k *Kept[V]) Of(key string) *V {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.held == nil {
		k.held = map[string]*V{}
	}
	if k.held[key] == nil {
		k.held[key] = new(V)
	}
	return k.held[key]
}

// Forget lets go of what is kept of a key.
func (k *Kept[V]) Forget(key string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.held, key)
}
