package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/subjects"

	"github.com/stretchr/testify/require"
)

// takeOver writes a term of another hub behind the back of the leader.
func takeOver(t *testing.T, c *bus.Conn) {
	t.Helper()
	term := api.Term{Header: api.NewHeader(api.KindTerm), Epoch: 1, Term: 1 << 40, Holder: "usurper"}
	text, err := json.Marshal(term)
	require.NoError(t, err)
	_, err = c.JS.Publish(bustest.Context(t), c.Fleet.BucketSubject(subjects.State, subjects.TermKey), text)
	require.NoError(t, err)
}

func TestADeposedWriterIsRefusedByTheServer(t *testing.T) {
	server := bustest.Start(t)
	for name, ops := range map[string][]store.Op{
		"single": {store.Put("schedule.a", bustest.Schedule("a", 1), 0)},
		"batch":  {store.Put("schedule.a", bustest.Schedule("a", 1), 0), store.Put("schedule.b", bustest.Schedule("b", 1), 0)},
	} {
		t.Run(name, func(t *testing.T) {
			leader := server.Lead(t)
			takeOver(t, server.Hub(t))
			_, err := leader.Writer.Write(bustest.Context(t), ops...)
			require.ErrorIs(t, err, bus.ErrDeposed)
			require.Empty(t, bustest.StoredKeys(t, leader.Conn, "schedule.*"))
			_, err = leader.Writer.Write(bustest.Context(t), store.Put("schedule.c", bustest.Schedule("c", 1), 0))
			require.ErrorIs(t, err, bus.ErrDeposed, "and stays deposed")
		})
	}
}

func TestABatchIsStoredWholeOrNotAtAll(t *testing.T) {
	leader := bustest.Start(t).Lead(t)
	revisions := bustest.Write(t, leader,
		store.Put("schedule.a", bustest.Schedule("a", 1), 0),
		store.Put("schedule.b", bustest.Schedule("b", 1), 0),
		store.Put("release.b", api.Release{Placement: "b"}, 0))
	require.Equal(t, []uint64{revisions[0], revisions[0] + 1, revisions[0] + 2}, revisions)
	require.Equal(t, revisions[1], leader.State.Revision("schedule.b"))

	_, err := leader.Writer.Write(bustest.Context(t),
		store.Put("schedule.a", bustest.Schedule("a", 2), revisions[0]),
		store.Put("schedule.b", bustest.Schedule("b", 2), revisions[0]))
	require.ErrorIs(t, err, bus.ErrConflict)
	require.ErrorContains(t, err, "schedule.b")
	require.Equal(t, revisions[0], leader.State.Revision("schedule.a"), "the first of them was not stored either")

	_, err = leader.Writer.Write(bustest.Context(t),
		store.Put("schedule.c", bustest.Schedule("c", 1), 0),
		store.Put("schedule.d", json.RawMessage(`"`+bustest.Noise(2*bus.MaxValue)+`"`), 0))
	require.ErrorIs(t, err, bus.ErrTooLarge)
	require.ErrorContains(t, err, "schedule.d")
	require.Zero(t, leader.State.Revision("schedule.c"))
	require.Len(t, bustest.StoredKeys(t, leader.Conn, "schedule.*"), 2)
}

func TestABatchChangesAndDeletes(t *testing.T) {
	leader := bustest.Start(t).Lead(t)
	r := bustest.Write(t, leader, store.Put("schedule.a", bustest.Schedule("a", 1), 0), store.Put("schedule.b", bustest.Schedule("b", 1), 0))
	bustest.Write(t, leader, store.Put("schedule.a", bustest.Schedule("a", 2), r[0]), store.Delete("schedule.b", r[1]))
	require.Equal(t, []string{"schedule.a"}, leader.State.Keys("schedule."))
}

func TestRevisionsAreChecked(t *testing.T) {
	leader := bustest.Start(t).Lead(t)
	r := bustest.Write(t, leader, store.Put("schedule.a", bustest.Schedule("a", 1), 0))
	for name, ops := range map[string][]store.Op{
		"exists":    {store.Put("schedule.a", bustest.Schedule("a", 2), 0)},
		"stale":     {store.Put("schedule.a", bustest.Schedule("a", 2), r[0]-1)},
		"not there": {store.Put("schedule.b", bustest.Schedule("b", 2), r[0])},
		"delete":    {store.Delete("schedule.a", r[0]+1)},
	} {
		_, err := leader.Writer.Write(bustest.Context(t), ops...)
		require.ErrorIs(t, err, bus.ErrConflict, name)
	}
	_, err := leader.Writer.Write(bustest.Context(t), store.Put("schedule.c", bustest.Schedule("c", 1), 0), store.Delete("schedule.c", 0))
	require.ErrorContains(t, err, "written twice")
	_, err = leader.Writer.Write(bustest.Context(t), make([]store.Op, 1001)...)
	require.ErrorIs(t, err, bus.ErrTooLarge)
	require.Equal(t, r[0], leader.State.Revision("schedule.a"))
}

func TestWritersSideBySide(t *testing.T) {
	leader := bustest.Start(t).Lead(t)
	const writers, rounds = 8, 25
	var running sync.WaitGroup
	errs := make(chan error, writers)
	for i := range writers {
		running.Go(func() { errs <- countUp(t.Context(), leader, fmt.Sprintf("p%d", i), rounds) })
	}
	running.Wait()
	for range writers {
		require.NoError(t, <-errs)
	}
	table := store.TableOf[api.Schedule](leader.State, subjects.Schedules)
	for _, e := range table.All() {
		require.EqualValues(t, rounds, e.Value.Generation, e.Name)
	}
	require.Equal(t, writers, table.Len())
}

// countUp writes a record rounds times, every third time together with a second one.
func countUp(ctx context.Context, leader *store.Store, name string, rounds int64) error {
	key, status := "schedule."+name, "status."+name
	for generation := range rounds {
		ops := []store.Op{store.Put(key, bustest.Schedule(name, generation+1), leader.State.Revision(key))}
		if generation%3 == 0 {
			ops = append(ops, store.Put(status, api.PlacementStatus{ObservedGeneration: generation}, leader.State.Revision(status)))
		}
		if _, err := leader.Writer.Write(ctx, ops...); err != nil {
			return err
		}
	}
	return nil
}

func TestOneOfTwoWritersOfARecordWins(t *testing.T) {
	leader := bustest.Start(t).Lead(t)
	const writers = 16
	var running sync.WaitGroup
	errs := make(chan error, writers)
	for i := range writers {
		running.Go(func() {
			_, err := leader.Writer.Write(t.Context(), store.Put("schedule.a", bustest.Schedule("a", int64(i)), 0))
			errs <- err
		})
	}
	running.Wait()
	won := 0
	for range writers {
		if err := <-errs; err == nil {
			won++
		} else {
			require.ErrorIs(t, err, bus.ErrConflict)
		}
	}
	require.Equal(t, 1, won)
}

func TestLongValuesAreCompressed(t *testing.T) {
	server := bustest.Start(t)
	leader := server.Lead(t)
	long := bustest.Schedule("web", 1)
	long.Message = strings.Repeat("all members are busy; ", 20_000)
	bustest.Write(t, leader, store.Put("schedule.web", long, 0))

	other := store.NewState(server.Hub(t))
	table := store.TableOf[api.Schedule](other, subjects.Schedules)
	bustest.InBackground(t, other.Run)
	require.NoError(t, other.WaitSynced(bustest.Context(t)))
	found, _, ok := table.Get("web")
	require.True(t, ok)
	require.Len(t, found.Message, len(long.Message))
	require.Equal(t, bustest.Keys().Digest([]byte(long.Message)), bustest.Keys().Digest([]byte(found.Message)))

	stream, err := leader.Conn.JS.Stream(t.Context(), leader.Conn.Fleet.BucketStream(subjects.State))
	require.NoError(t, err)
	m, err := stream.GetLastMsgForSubject(t.Context(), leader.Conn.Fleet.BucketSubject(subjects.State, "schedule.web"))
	require.NoError(t, err)
	require.Equal(t, byte('z'), m.Data[0])
	require.Less(t, len(m.Data), 16<<10)
}

// What only has to be as it was is not written, and keeps the rest from being stored once it is not.
func TestAWriteHoldsToWhatItWasDecidedBy(t *testing.T) {
	leader := bustest.Start(t).Lead(t)
	r := bustest.Write(t, leader, store.Put("release.a", api.Release{Placement: "a"}, 0))
	revisions := bustest.Write(t, leader, store.Put("schedule.a", bustest.Schedule("a", 1), 0), store.Holds("release.a", r[0]), store.Holds("release.b", 0))
	require.Len(t, revisions, 1)
	require.Equal(t, r[0], leader.State.Revision("release.a"))

	bustest.Write(t, leader, store.Put("release.a", api.Release{Placement: "a", Step: 2}, r[0]))
	_, err := leader.Writer.Write(bustest.Context(t), store.Put("schedule.a", bustest.Schedule("a", 2), revisions[0]), store.Holds("release.a", r[0]))
	require.ErrorIs(t, err, bus.ErrConflict)
	require.ErrorContains(t, err, "release.a")
	_, err = leader.Writer.Write(bustest.Context(t), store.Put("schedule.a", bustest.Schedule("a", 2), revisions[0]), store.Holds("release.b", r[0]))
	require.ErrorIs(t, err, bus.ErrConflict)
	require.Equal(t, revisions[0], leader.State.Revision("schedule.a"))
}

// Writes under a context are stored while a record is as it was, beside each other; what changes that record goes by its own
// revision, and the rest of what was begun is stored regardless.
func TestWritesHoldToTheirContext(t *testing.T) {
	leader := bustest.Start(t).Lead(t)
	r := bustest.Write(t, leader, store.Put("release.a", api.Release{Placement: "a"}, 0))
	ctx := store.While(bustest.Context(t), "release.a", r[0])
	var beside sync.WaitGroup
	errs := make([]error, 20)
	for i := range errs {
		beside.Go(func() {
			_, errs[i] = leader.Writer.Write(ctx, store.Put(fmt.Sprintf("schedule.s%d", i), bustest.Schedule("a", 1), 0))
		})
	}
	beside.Wait()
	require.NoError(t, errors.Join(errs...))
	_, err := leader.Writer.Write(ctx, store.Put("release.a", api.Release{Placement: "a", Step: 2}, r[0]))
	require.NoError(t, err)
	_, err = leader.Writer.Write(ctx, store.Put("schedule.late", bustest.Schedule("a", 1), 0))
	require.ErrorIs(t, err, bus.ErrConflict)
	_, err = leader.Writer.Write(store.Regardless(ctx), store.Put("schedule.late", bustest.Schedule("a", 1), 0))
	require.NoError(t, err)
}
