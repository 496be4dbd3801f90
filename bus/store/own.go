package store

import (
	"bytes"
	"sync"
)

// own are the values that are being written and that tables may take as they are, by key. They come from the watcher as
// often as with their acknowledgement.
type own struct {
	mu  sync.Mutex
	all map[string]ownValue
}

// ownValue is a value as it is stored, the pointer that it was encoded from, through which nobody changes it any more, and what it
// takes in memory.
type ownValue struct {
	stored []byte
	value  any
	weight int64
}

// share has tables take what a write shares, until the function that it returns is called.
func (s *State) share(out *write) (over func()) {
	var keys []string
	for i, op := range out.ops {
		if op.shared == nil {
			continue
		}
		keys = append(keys, op.Key)
		s.own.put(op.Key, ownValue{out.values[i], op.shared, out.weights[i]})
	}
	return func() { s.own.drop(keys) }
}

func (o *own) put(key string, v ownValue) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.all == nil {
		o.all = map[string]ownValue{}
	}
	o.all[key] = v
}

func (o *own) drop(keys []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, key := range keys {
		delete(o.all, key)
	}
}

// of is the value that was encoded to what is stored of a key, and its weight; nil when that is not known.
func (o *own) of(key string, stored []byte) (value any, weight int64) {
	o.mu.Lock()
	v, found := o.all[key]
	o.mu.Unlock()
	if !found || !bytes.Equal(v.stored, stored) {
		return nil, 0
	}
	return v.value, v.weight
}
