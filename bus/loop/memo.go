package loop

import (
	"context"
	"crypto/sha256"
	"sync"
	"time"
)

// MemoOptions say what a Memo remembers.
type MemoOptions[V any] struct {
	// Ask answers for a secret.
	Ask func(ctx context.Context, secret string) (V, error)
	// Ends is when an answer holds no more, whatever is remembered.
	Ends func(V) time.Time
	// For is how long an answer is taken to hold without asking again, Most how many are remembered at once.
	For  time.Duration
	Most int
	Now  func() time.Time
}

// Memo remembers for a moment what was answered for secrets, by their hashes, so that whoever shows one again and again costs
// little. Errors are not remembered.
type Memo[V any] struct {
	o MemoOptions[V]

	mu    sync.Mutex
	known map[[sha256.Size]byte]answered[V]
}

type answered[V any] struct {
	value V
	at    time.Time
}

// NewMemo returns an empty memo.
func NewMemo[V any](o MemoOptions[V]) *Memo[V] {
	return &Memo[V]{o: o, known: map[[sha256.Size]byte]answered[V]{}}
}

// Of is the answer for a secret, or the error of Ask.
func (m *Memo[V]) Of(ctx context.Context, secret string) (V, error) {
	sum, now := sha256.Sum256([]byte(secret)), m.o.Now()
	m.mu.Lock()
	held, known := m.known[sum]
	m.mu.Unlock()
	if known && now.Sub(held.at) < m.o.For && now.Before(m.o.Ends(held.value)) {
		return held.value, nil
	}
	value, err := m.o.Ask(ctx, secret)
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil {
		delete(m.known, sum)
		return value, err
	}
	if len(m.known) >= m.o.Most {
		clear(m.known)
	}
	m.known[sum] = answered[V]{value, now}
	return value, nil
}

// Forget asks again the next time.
func (m *Memo[V]) Forget(secret string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.known, sha256.Sum256([]byte(secret)))
}
