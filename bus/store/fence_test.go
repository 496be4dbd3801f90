package store_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/subjects"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"
)

// throughProxy leads on a connection that a proxy can disturb.
func throughProxy(t *testing.T) (*bustest.Proxy, *store.Store, *bus.Conn) {
	t.Helper()
	server := bustest.Start(t)
	proxy, c := server.ProxiedHub(t)
	return proxy, bustest.Lead(t, c, "hub-0", store.LeadOptions{}), server.Hub(t)
}

type written struct {
	revisions []uint64
	err       error
}

func writeInBackground(t *testing.T, store *store.Store, ops ...store.Op) <-chan written {
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
	proxy, leader, direct := throughProxy(t)
	fence := termSequence(t, direct)
	proxy.HoldReplies()
	done := writeInBackground(t, leader, store.Put("schedule.a", bustest.Schedule("a", 1), 0), store.Put("schedule.b", bustest.Schedule("b", 1), 0))
	schedulesStored(t, direct, 2)
	proxy.Cut()
	result := <-done
	require.NoError(t, result.err)
	require.Equal(t, leader.State.Revision("schedule.b"), result.revisions[1])
	require.Greater(t, termSequence(t, direct), fence, "the term was written anew")

	bustest.Write(t, leader, store.Put("schedule.a", bustest.Schedule("a", 2), result.revisions[0]))
}

// A batch waits behind one whose answer is lost: it is not stored because of that one, and goes out again, once.
func TestABatchBehindALostAnswerIsStoredOnce(t *testing.T) {
	proxy, leader, direct := throughProxy(t)
	proxy.HoldReplies()
	first := writeInBackground(t, leader, store.Put("schedule.a", bustest.Schedule("a", 1), 0), store.Put("schedule.b", bustest.Schedule("b", 1), 0))
	bustest.Eventually(t, func() error { return underWay(leader, "schedule.a", 0) })
	second := writeInBackground(t, leader, store.Put("schedule.c", bustest.Schedule("c", 1), 0), store.Put("schedule.d", bustest.Schedule("d", 1), 0))
	bustest.Eventually(t, func() error { return underWay(leader, "schedule.c", 0) })
	schedulesStored(t, direct, 2)
	proxy.Cut()
	require.NoError(t, (<-first).err)
	behind := <-second
	require.NoError(t, behind.err)

	bustest.Write(t, leader, store.Put("schedule.c", bustest.Schedule("c", 2), behind.revisions[0]), store.Put("schedule.d", bustest.Schedule("d", 2), behind.revisions[1]))
	bustest.Write(t, leader, store.Put("schedule.e", bustest.Schedule("e", 1), 0), store.Put("schedule.f", bustest.Schedule("f", 1), 0))
	require.NoError(t, leader.State.Relist(bustest.Context(t)))
	for _, name := range []string{"c", "d"} {
		found, _, _ := store.TableOf[api.Schedule](leader.State, subjects.Schedules).Get(name)
		require.EqualValues(t, 2, found.Generation, name)
	}
	require.True(t, store.Whole(leader), "the tally is that of what is stored")
}

// A write is lost with the connection before it reached the server. The writer must find out that it
// was not stored and say so, and go on.
func TestAWriteThatWasLostIsFoundOut(t *testing.T) {
	proxy, leader, direct := throughProxy(t)
	r := bustest.Write(t, leader, store.Put("schedule.a", bustest.Schedule("a", 1), 0))
	proxy.HoldRequests()
	done := writeInBackground(t, leader, store.Put("schedule.a", bustest.Schedule("a", 2), r[0]))
	bustest.Eventually(t, func() error { return underWay(leader, "schedule.a", r[0]) })
	proxy.Cut()
	result := <-done
	require.ErrorIs(t, result.err, bus.ErrConflict)
	require.Equal(t, r[0], leader.State.Revision("schedule.a"))
	bustest.Write(t, leader, store.Put("schedule.a", bustest.Schedule("a", 3), r[0]))
	require.Len(t, bustest.StoredKeys(t, direct, "schedule.*"), 1)
}

// underWay returns nil once another write of key is under way. The probe can never be stored, because
// it names the record twice.
func underWay(leader *store.Store, key string, revision uint64) error {
	probe := store.Delete(key, revision)
	_, err := leader.Writer.Write(context.Background(), probe, probe)
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
	proxy, leader, direct := throughProxy(t)
	proxy.HoldReplies()
	done := writeInBackground(t, leader, store.Put("schedule.a", bustest.Schedule("a", 1), 0))
	schedulesStored(t, direct, 1)
	takeOver(t, direct)
	proxy.Cut()
	require.ErrorIs(t, (<-done).err, bus.ErrDeposed)
}

// The writer must not judge an unknown outcome by a cache that has not been listed since: here nobody
// lists, so it must not answer before its time is over.
func TestAnUnknownOutcomeWaitsForAListing(t *testing.T) {
	server := bustest.Start(t)
	leader, direct := server.Lead(t), server.Hub(t)
	proxy, c := server.ProxiedHub(t)
	state := store.NewState(c)
	watching, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { state.Run(watching); close(ended) }()
	require.NoError(t, state.WaitSynced(bustest.Context(t)))
	stop()
	bustest.Within(t, ended, "watching ends")

	writer, err := store.NewWriter(state, leader.Term, termSequence(t, direct), 1)
	require.NoError(t, err)
	proxy.HoldReplies()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := writer.Write(ctx, store.Put("schedule.a", bustest.Schedule("a", 1), 0))
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
	leading, direct := bustest.Within(t, leader.led, "hub-0 leads"), server.Hub(t)
	proxy.HoldReplies()
	done := writeInBackground(t, leading, store.Put("schedule.a", bustest.Schedule("a", 1), 0))
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
	leader := bustest.Lead(t, c, "hub-0", store.LeadOptions{})
	c.Close()
	done := writeInBackground(t, leader, store.Put("schedule.a", bustest.Schedule("a", 1), 0))
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
