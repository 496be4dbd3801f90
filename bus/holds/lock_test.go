package holds_test

import (
	"testing"
	"time"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/holds"
	"flotilla/bus/store"
	"flotilla/subjects"

	"github.com/stretchr/testify/require"
)

func TestAMemberLockHasOneHolder(t *testing.T) {
	leader := bustest.Start(t).Lead(t)
	locks := holds.LocksOf(leader.State.As(subjects.Runner))
	write := func(ops ...store.Op) error {
		_, err := leader.Writer.Write(bustest.Context(t), ops...)
		return err
	}
	require.NoError(t, write(locks.Take("berlin", "u1/berlin/1", "run r1", time.Now())))
	require.ErrorIs(t, write(locks.Take("berlin", "u2/berlin/1", "run r2", time.Now())), bus.ErrConflict)
	require.ErrorIs(t, write(store.Put("run.r2", "status", 0), locks.Take("berlin", "u2/berlin/1", "run r2", time.Now())), bus.ErrConflict)
	_, _, found := leader.State.Raw("run.r2")
	require.False(t, found, "what shares a batch with a lock that is held is not written either")

	lock, found := locks.Get("berlin")
	require.True(t, found)
	require.Equal(t, "run r1", lock.Owner)
	_, held := locks.Release("berlin", "u2/berlin/1")
	require.False(t, held, "nobody gives back the lock of another")
	op, held := locks.Release("berlin", "u1/berlin/1")
	require.True(t, held)
	require.NoError(t, write(op))
	_, found = locks.Get("berlin")
	require.False(t, found)
	require.NoError(t, write(locks.Take("berlin", "u2/berlin/1", "run r2", time.Now())))
	require.Len(t, locks.All(), 1)
}
