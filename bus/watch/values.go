package watch

import (
	"slices"
	"strings"
	"sync"
)

// Values is the typed view of a Cache, one of a type for all who ask. Each value is decoded once per write, when it is
// asked for first; values are shared between all readers and must not be changed. One that cannot be decoded is
// logged once and otherwise as if it were not there.
type Values[T any] struct {
	cache *Cache

	mu   sync.Mutex
	held map[string]value[T]
}

type value[T any] struct {
	sequence uint64
	decoded  *T // nil when it cannot be decoded
}

// holder is a typed view without its type.
type holder interface{ forget(key string) }

// ValuesOf returns the typed view of a cache; every call for the same T returns the same one.
func ValuesOf[T any](c *Cache) *Values[T] {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, h := range c.holders {
		if known, ok := h.(*Values[T]); ok {
			return known
		}
	}
	v := &Values[T]{cache: c, held: map[string]value[T]{}}
	c.holders = append(slices.Clip(c.holders), v)
	return v
}

// forget lets go of what was made of a key that is gone.
func (v *Values[T]) forget(key string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.held, key)
}

// Get returns the newest value of a key and its entry, nil when there is none or it cannot be decoded.
// The entry is that of the key in either case; its Sequence is 0 when the key does not exist.
func (v *Values[T]) Get(key string) (*T, CacheEntry) {
	entry, found := v.cache.Get(key)
	v.mu.Lock()
	defer v.mu.Unlock()
	if !found {
		delete(v.held, key)
		return nil, CacheEntry{}
	}
	if held, ok := v.held[key]; ok && held.sequence == entry.Sequence {
		return held.decoded, entry
	}
	now := value[T]{sequence: entry.Sequence}
	decoded, err := Decode[T](entry)
	if err == nil {
		now.decoded = &decoded
	} else {
		member, _, _ := strings.Cut(key, ".")
		v.cache.lines.Of(member, v.cache.conn.Log.Error).Err(err).Str("bucket", v.cache.from.name).Str("key", key).Uint64("sequence", entry.Sequence).
			Msg("value cannot be decoded")
	}
	v.held[key] = now
	return now.decoded, entry
}
