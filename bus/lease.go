package bus

import (
	"context"
	"time"

	"flotilla/core/api"
)

// LeadOptions tunes Lead. The zero value is for production.
type LeadOptions struct {
	// TTL of the lease (20 s), Renew between renewals (5 s), Margin before the own deadline at which
	// the leader stops acting (5 s), Poll between looks at a held lease (5 s). TTL is at least 1 s.
	TTL, Renew, Margin, Poll time.Duration
	// Layout is applied after the term is written.
	Layout LayoutOptions
}

// Lead competes for the lease as id until ctx ends. While id holds it, act runs with a Store that is
// open, running and synced; its context ends when the lease is in danger, and Lead waits for act to
// return before it competes again. It returns when ctx ends (nil), when act returns an error other
// than ErrDeposed, or with ErrLayoutNewer.
func Lead(ctx context.Context, c *Conn, id string, o LeadOptions, act func(ctx context.Context, s *Store) error) error {
	return errUnbuilt
}

// Store is everything a leader works with. It lives as long as the context it was handed with.
type Store struct {
	Conn       *Conn
	Term       api.Term
	State      *State
	Writer     *Writer
	Heartbeats *Cache // keys: <member>; decode with Decode[api.Heartbeat]
	Results    *Cache // keys: subjects.ResultKey
	Content    *Content
	Commands   *Commands
	Audit      *Audit
	Layout     LayoutReport
}

// OpenStore opens a store under a term that is already written and runs its watchers until ctx ends;
// Lead calls it. It returns when everything is synced.
func OpenStore(ctx context.Context, c *Conn, term api.Term, termRevision uint64) (*Store, error) {
	return nil, errUnbuilt
}

// Wait returns when all goroutines of the store ended, after its context did.
func (s *Store) Wait() {}
