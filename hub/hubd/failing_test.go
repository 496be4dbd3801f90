package hubd

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"flotilla/bus/server"
	"flotilla/bus/store"
)

// A room that fails, as when the broker goes away while it starts, ends the term and not the hub.
func TestARoomThatFailsEndsTheTermAlone(t *testing.T) {
	h, err := New(Options{Fleet: "test", Log: zerolog.Nop(), Server: &server.Options{Dir: t.TempDir(), Port: -1}})
	require.NoError(t, err)
	terms := make(chan uint64, 2)
	h.rooms = func(s *store.Store) []room {
		terms <- s.Term.Term
		waits := room{"waits", func(ctx context.Context) error { <-ctx.Done(); return nil }}
		if len(terms) == 1 {
			return []room{waits, {"fails", func(context.Context) error { return errors.New("no broker") }}}
		}
		return []room{waits}
	}
	require.NoError(t, h.Start(t.Context()))
	t.Cleanup(h.Stop)
	require.Eventually(t, func() bool { return len(terms) == 2 }, 20*time.Second, 10*time.Millisecond)
	first, second := <-terms, <-terms
	require.Less(t, first, second)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	require.NoError(t, h.WaitLeading(ctx))
	require.Empty(t, h.failed)
}

// A hub whose connection is closed for good says so, and ends: nothing would bring the connection back, and nobody would be answered.
func TestAHubWhoseConnectionIsClosedEnds(t *testing.T) {
	h, err := New(Options{Fleet: "test", Log: zerolog.Nop(), Server: &server.Options{Dir: t.TempDir(), Port: -1}})
	require.NoError(t, err)
	require.NoError(t, h.Start(t.Context()))
	// Not before it leads: nats-server forgets to stop what it began of a stream that is made while it shuts down.
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	require.NoError(t, h.WaitLeading(ctx))
	served := make(chan error, 1)
	go func() { served <- h.Serve(t.Context()) }()
	require.NoError(t, h.conn.NC.Publish(strings.Repeat("x", 5000), nil)) // longer than any line may be
	select {
	case err := <-served:
		require.ErrorContains(t, err, "is closed for good: nats: maximum control line exceeded")
	case <-time.After(20 * time.Second):
		require.Fail(t, "it serves on")
	}
}
