package streams_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/store"
	"flotilla/bus/streams"
	"flotilla/core/api"
	"flotilla/subjects"
)

// reading is a follower of the audit stream and what it has taken.
type reading struct {
	mu     sync.Mutex
	events []streams.AuditEvent
}

func (r *reading) take(_ context.Context, e streams.AuditEvent) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
	return nil
}

func (r *reading) seen() []streams.AuditEvent {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]streams.AuditEvent{}, r.events...)
}

func (r *reading) messages() []string {
	out := []string{}
	for _, e := range r.seen() {
		out = append(out, e.Message)
	}
	return out
}

// until waits until exactly these messages came, in this order.
func (r *reading) until(t *testing.T, want ...string) {
	t.Helper()
	bustest.EventuallyIn(t, 30*time.Second, func() error {
		if got := r.messages(); fmt.Sprint(got) != fmt.Sprint(want) {
			return fmt.Errorf("took %v, expected %v", got, want)
		}
		return nil
	})
}

// follow follows from a position until the test ends.
func follow(t *testing.T, c *bus.Conn, from streams.AuditPosition) *reading {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	r := &reading{}
	var running sync.WaitGroup
	var err error
	running.Go(func() { err = streams.FollowAudit(ctx, c, from, r.take) })
	t.Cleanup(func() { cancel(); running.Wait(); require.NoError(t, err) })
	return r
}

func record(s *store.Store, messages ...string) {
	for _, m := range messages {
		s.Audit.Record(api.Audit{Object: "run/spring", Reason: "Running", Message: m})
	}
}

func TestAuditIsFollowedOverARestartOfTheServer(t *testing.T) {
	server := bustest.Start(t)
	store := server.Lead(t)
	c := server.Hub(t)
	end, err := streams.AuditEnd(bustest.Context(t), c)
	require.NoError(t, err)
	require.Zero(t, end)
	all := follow(t, c, end)
	record(store, "a", "b")
	all.until(t, "a", "b")

	server.Restart(t)
	record(store, "c")
	all.until(t, "a", "b", "c")

	middle := all.seen()[1].Position
	follow(t, c, middle).until(t, "c")
	end, err = streams.AuditEnd(bustest.Context(t), c)
	require.NoError(t, err)
	require.Equal(t, all.seen()[2].Position, end)
	none := follow(t, c, end)
	record(store, "d")
	none.until(t, "d")
}

func TestAFollowerThatFailsSaysSoAndIsAskedNoMore(t *testing.T) {
	server := bustest.Start(t)
	store := server.Lead(t)
	record(store, "a", "b")
	wrong, calls := errors.New("wrong"), 0
	err := streams.FollowAudit(bustest.Context(t), store.Conn, streams.AuditPosition{}, func(context.Context, streams.AuditEvent) error {
		calls++
		return wrong
	})
	require.ErrorIs(t, err, wrong)
	require.Equal(t, 1, calls)
}

// Positions outlive the stream they were taken in: events stored later are not missed and events from
// before do not come again, whatever their sequences are.
func TestAPositionOfAnotherStreamCountsByItsTime(t *testing.T) {
	server := bustest.Start(t)
	store := server.Lead(t)
	c := server.Hub(t)
	record(store, "a", "b", "c")
	first := follow(t, c, streams.AuditPosition{})
	first.until(t, "a", "b", "c")
	now := first.seen()[2].Position

	for name, position := range map[string]streams.AuditPosition{
		"beyond the end":               {Sequence: 40, Stored: now.Stored},
		"another event has its number": {Sequence: 1, Stored: now.Stored},
	} {
		t.Run(name, func(t *testing.T) {
			later := follow(t, c, position)
			record(store, name)
			bustest.Eventually(t, func() error {
				if got := later.messages(); len(got) == 0 || got[len(got)-1] != name {
					return fmt.Errorf("took %v", got)
				}
				return nil
			})
			require.NotContains(t, later.messages(), "c")
		})
	}
}

func TestAPositionThatWasPurgedGoesOnBehindIt(t *testing.T) {
	server := bustest.Start(t)
	store := server.Lead(t)
	c := server.Hub(t)
	record(store, "a", "b", "c")
	first := follow(t, c, streams.AuditPosition{})
	first.until(t, "a", "b", "c")
	stream, err := c.JS.Stream(bustest.Context(t), c.Fleet.Stream(subjects.Audit))
	require.NoError(t, err)
	require.NoError(t, stream.Purge(bustest.Context(t)))
	after := follow(t, c, first.seen()[2].Position)
	early := follow(t, c, first.seen()[0].Position)
	record(store, "d")
	after.until(t, "d")
	early.until(t, "d")
}
