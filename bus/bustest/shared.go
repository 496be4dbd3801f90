package bustest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"flotilla/bus"
	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/subjects"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"
)

// Schedule is a record to write, with no bindings.
func Schedule(placement string, generation int64) api.Schedule {
	return api.Schedule{Header: api.NewHeader(api.KindSchedule), Placement: placement, Generation: generation, Bindings: []api.Binding{}}
}

// Schedules follows the schedules of a server on a connection of its own.
func Schedules(t testing.TB, c *bus.Conn, onChange ...func(name string)) (*store.State, *store.Table[api.Schedule]) {
	t.Helper()
	state := store.NewState(c)
	table := store.TableOf[api.Schedule](state, subjects.Schedules)
	for _, f := range onChange {
		table.OnChange(f)
	}
	InBackground(t, state.Run)
	require.NoError(t, state.WaitSynced(Context(t)))
	return state, table
}

// Generations are those of the schedules of a table, by name.
func Generations(table *store.Table[api.Schedule]) map[string]int64 {
	found := map[string]int64{}
	for _, e := range table.All() {
		found[e.Name] = e.Value.Generation
	}
	return found
}

// Write stores records, which must succeed.
func Write(t testing.TB, s *store.Store, ops ...store.Op) []uint64 {
	t.Helper()
	revisions, err := s.Writer.Write(Context(t), ops...)
	require.NoError(t, err)
	return revisions
}

// InBackground runs f until it is stopped, which waits for it, at the latest at the end of the test.
func InBackground(t testing.TB, f func(context.Context)) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	running.Go(func() { f(ctx) })
	stop = sync.OnceFunc(func() { cancel(); running.Wait() })
	t.Cleanup(stop)
	return stop
}

// Room runs a room of a hub as InBackground does; that it fails fails the test.
func Room(t testing.TB, room interface{ Run(context.Context) error }) (stop func()) {
	t.Helper()
	return InBackground(t, func(ctx context.Context) {
		if err := room.Run(ctx); err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("%T: %v", room, err)
		}
	})
}

// Overwrite writes a record whatever its revision; nil deletes it.
func Overwrite(t testing.TB, s *store.Store, key string, value any) {
	t.Helper()
	Eventually(t, func() error {
		_, err := s.Writer.Write(Context(t), store.Op{Key: key, Value: value, Revision: s.State.Revision(key)})
		return err
	})
}

// Within receives what has to come soon.
func Within[T any](t testing.TB, c <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(10 * time.Second):
		require.FailNow(t, "did not happen: "+what)
		panic("unreachable")
	}
}

// Raw connects with the credentials of a member's agent and no manners.
func Raw(t testing.TB, server *Server, member string, more ...nats.Option) (*nats.Conn, <-chan error) {
	t.Helper()
	creds := AgentCreds(t, server.Server, member)
	refusals := make(chan error, 64)
	nc, err := nats.Connect(server.URL(), append(more, nats.UserCredentialBytes(creds), nats.CustomInboxPrefix(subjects.Inbox(member)),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { refusals <- err }))...)
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	return nc, refusals
}
