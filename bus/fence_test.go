package bus_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/subjects"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"
)

// throughProxy leads on a connection that a proxy can disturb.
func throughProxy(t *testing.T) (*bustest.Proxy, *bus.Store, *bus.Conn) {
	t.Helper()
	server := bustest.Start(t)
	proxy, c := server.ProxiedHub(t)
	return proxy, bustest.Lead(t, c, "hub-0", bus.LeadOptions{}), server.Hub(t)
}

type written struct {
	revisions []uint64
	err       error
}

func writeInBackground(t *testing.T, store *bus.Store, ops ...bus.Op) <-chan written {
	t.Helper()
	done := make(chan written, 1)
	ctx := context.WithoutCancel(t.Context())
	go func() {
		revisions, err := store.Writer.Write(ctx, ops...)
		done <- written{revisions, err}
	}()
	return done
}

// A write is stored, but its answer is lost with the connection. The writer must find out that it was
// stored, answer with the right revision, and have fenced what may still be in flight.
func TestAnAnswerThatWasLostIsFoundOut(t *testing.T) {
	proxy, store, direct := throughProxy(t)
	fence := termSequence(t, direct)
	proxy.HoldReplies()
	done := writeInBackground(t, store, bus.Put("schedule.a", bustest.Schedule("a", 1), 0), bus.Put("schedule.b", bustest.Schedule("b", 1), 0))
	schedulesStored(t, direct, 2)
	proxy.Cut()
	result := <-done
	require.NoError(t, result.err)
	require.Equal(t, store.State.Revision("schedule.b"), result.revisions[1])
	require.Greater(t, termSequence(t, direct), fence, "the term was written anew")

	bustest.Write(t, store, bus.Put("schedule.a", bustest.Schedule("a", 2), result.revisions[0]))
}

// A batch waits behind one whose answer is lost: it is not stored because of that one, and goes out again, once.
func TestABatchBehindALostAnswerIsStoredOnce(t *testing.T) {
	proxy, store, direct := throughProxy(t)
	proxy.HoldReplies()
	first := writeInBackground(t, store, bus.Put("schedule.a", bustest.Schedule("a", 1), 0), bus.Put("schedule.b", bustest.Schedule("b", 1), 0))
	bustest.Eventually(t, func() error { return underWay(store, "schedule.a", 0) })
	second := writeInBackground(t, store, bus.Put("schedule.c", bustest.Schedule("c", 1), 0), bus.Put("schedule.d", bustest.Schedule("d", 1), 0))
	bustest.Eventually(t, func() error { return underWay(store, "schedule.c", 0) })
	schedulesStored(t, direct, 2)
	proxy.Cut()
	require.NoError(t, (<-first).err)
	behind := <-second
	require.NoError(t, behind.err)

	bustest.Write(t, store, bus.Put("schedule.c", bustest.Schedule("c", 2), behind.revisions[0]), bus.Put("schedule.d", bustest.Schedule("d", 2), behind.revisions[1]))
	bustest.Write(t, store, bus.Put("schedule.e", bustest.Schedule("e", 1), 0), bus.Put("schedule.f", bustest.Schedule("f", 1), 0))
	require.NoError(t, store.State.Relist(bustest.Context(t)))
	for _, name := range []string{"c", "d"} {
		found, _, _ := bus.TableOf[api.Schedule](store.State, subjects.Schedules).Get(name)
		require.EqualValues(t, 2, found.Generation, name)
	}
	require.True(t, bus.Whole(store), "the tally is that of what is stored")
}

// A write is lost with the connection before it reached the server. The writer must find out that it
// was not stored and say so, and go on.
func TestAWriteThatWasLostIsFoundOut(t *testing.T) {
	proxy, store, direct := throughProxy(t)
	r := bustest.Write(t, store, bus.Put("schedule.a", bustest.Schedule("a", 1), 0))
	proxy.HoldRequests()
	done := writeInBackground(t, store, bus.Put("schedule.a", bustest.Schedule("a", 2), r[0]))
	bustest.Eventually(t, func() error { return underWay(store, "schedule.a", r[0]) })
	proxy.Cut()
	result := <-done
	require.ErrorIs(t, result.err, bus.ErrConflict)
	require.Equal(t, r[0], store.State.Revision("schedule.a"))
	bustest.Write(t, store, bus.Put("schedule.a", bustest.Schedule("a", 3), r[0]))
	require.Len(t, bustest.StoredKeys(t, direct, "schedule.*"), 1)
}

// underWay returns nil once another write of key is under way. The probe can never be stored, because
// it names the record twice.
func underWay(store *bus.Store, key string, revision uint64) error {
	probe := bus.Delete(key, revision)
	_, err := store.Writer.Write(context.Background(), probe, probe)
	if !errors.Is(err, bus.ErrConflict) {
		return fmt.Errorf("nothing is being written: %w", err)
	}
	return nil
}

// schedulesStored waits until the server has stored so many schedules.
func schedulesStored(t *testing.T, c *bus.Conn, want int) {
	t.Helper()
	bustest.Eventually(t, func() error {
		if n := len(bustest.StoredKeys(t, c, "schedule.*")); n != want {
			return fmt.Errorf("%d schedules are stored", n)
		}
		return nil
	})
}

// An answer is lost, and before the writer can find out another hub has taken over: it must give up.
func TestALostAnswerAndATakeOver(t *testing.T) {
	proxy, store, direct := throughProxy(t)
	proxy.HoldReplies()
	done := writeInBackground(t, store, bus.Put("schedule.a", bustest.Schedule("a", 1), 0))
	schedulesStored(t, direct, 1)
	takeOver(t, direct)
	proxy.Cut()
	require.ErrorIs(t, (<-done).err, bus.ErrDeposed)
}

// The writer must not judge an unknown outcome by a cache that has not been listed since: here nobody
// lists, so it must not answer before its time is over.
func TestAnUnknownOutcomeWaitsForAListing(t *testing.T) {
	server := bustest.Start(t)
	store, direct := server.Lead(t), server.Hub(t)
	proxy, c := server.ProxiedHub(t)
	state := bus.NewState(c)
	watching, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { state.Run(watching); close(ended) }()
	require.NoError(t, state.WaitSynced(bustest.Context(t)))
	stop()
	bustest.Within(t, ended, "watching ends")

	writer, err := bus.NewWriter(state, store.Term, termSequence(t, direct), 1)
	require.NoError(t, err)
	proxy.HoldReplies()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := writer.Write(ctx, bus.Put("schedule.a", bustest.Schedule("a", 1), 0))
		done <- err
	}()
	schedulesStored(t, direct, 1)
	proxy.Cut()
	require.ErrorIs(t, bustest.Within(t, done, "an answer"), context.DeadlineExceeded)
}

// The answer of a write is lost, and the hub stops leading before it can find out: the write must return, because the
// hub waits for it before it leads again.
func TestALostAnswerAndAHubThatStopsLeading(t *testing.T) {
	server := bustest.Start(t)
	proxy, c := server.ProxiedHub(t)
	leader := compete(t, c, "hub-0")
	store, direct := bustest.Within(t, leader.led, "hub-0 leads"), server.Hub(t)
	proxy.HoldReplies()
	done := writeInBackground(t, store, bus.Put("schedule.a", bustest.Schedule("a", 1), 0))
	schedulesStored(t, direct, 1)
	require.ErrorIs(t, bustest.Within(t, leader.lost, "hub-0 stops acting"), bus.ErrDeposed)
	proxy.Cut()
	require.ErrorIs(t, bustest.Within(t, done, "an answer").err, bus.ErrDeposed)
	bustest.Within(t, leader.led, "hub-0 leads again")
}

// The connection is closed under a write, as when a process ends in the wrong order: the write must
// return, not wait for a connection that will not come back.
func TestAWriteOnAClosedConnectionReturns(t *testing.T) {
	server := bustest.Start(t)
	c := server.Hub(t)
	store := bustest.Lead(t, c, "hub-0", bus.LeadOptions{})
	c.Close()
	done := writeInBackground(t, store, bus.Put("schedule.a", bustest.Schedule("a", 1), 0))
	require.ErrorIs(t, bustest.Within(t, done, "an answer").err, nats.ErrConnectionClosed)
}

func termSequence(t *testing.T, c *bus.Conn) uint64 {
	t.Helper()
	stream, err := c.JS.Stream(bustest.Context(t), c.Fleet.BucketStream(subjects.State))
	require.NoError(t, err)
	m, err := stream.GetLastMsgForSubject(bustest.Context(t), c.Fleet.BucketSubject(subjects.State, subjects.TermKey))
	require.NoError(t, err)
	return m.Sequence
}
