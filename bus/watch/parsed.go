package watch

import "sync"

// Parsed keeps what was made of records, one value a key, for as long as the record has the same revision. Values are
// shared between all readers and must not be changed. The zero value is ready.
type Parsed[V any] struct {
	mu   sync.Mutex
	held map[string]parsed[V]
}

type parsed[V any] struct {
	revision uint64
	value    V
}

// Of returns what make makes of the record of a key at a revision, made once; a fault is not kept.
func (p *Parsed[V]) Of(key string, revision uint64, make func() (V, error)) (V, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if held, found := p.held[key]; found && held.revision == revision {
		return held.value, nil
	}
	value, err := make()
	if err != nil {
		return value, err
	}
	if p.held == nil {
		p.held = map[string]parsed[V]{}
	}
	p.held[key] = parsed[V]{revision, value}
	return value, nil
}

// Drop forgets a key.
func (p *Parsed[V]) Drop(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.held, key)
}
