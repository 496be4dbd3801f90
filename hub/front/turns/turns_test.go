package turns

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Nobody keeps more watches than a hub bears, alone or with others.
func TestWatchesOfAPersonAndOfAllAreBounded(t *testing.T) {
	c := NewAll().Watching
	first, err := c.Enter("anna")
	require.NoError(t, err)
	for range mostWatchesOfOne - 1 {
		_, err := c.Enter("anna")
		require.NoError(t, err)
	}
	_, err = c.Enter("anna")
	require.True(t, apierrors.IsTooManyRequests(err), "%v", err)
	first.Leave()
	_, err = c.Enter("anna")
	require.NoError(t, err)
	for c.all < mostWatches {
		_, err := c.Enter(string(rune('a' + c.all%26)))
		require.NoError(t, err)
	}
	_, err = c.Enter("berta")
	require.True(t, apierrors.IsTooManyRequests(err), "%v", err)
}

// turn is one that a person reads in.
func turn(t *testing.T, all *All, person string) *Turn {
	t.Helper()
	made, err := all.Reading.Enter(person)
	require.NoError(t, err)
	return made
}

// over is a context that has ended: who has to wait is refused.
func over() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

const ofOne = mostHeld / partOfOne

// What requests hold is bounded, of one person and of all, in each room by itself; who is refused is told when to ask again.
func TestWhatRequestsHoldIsBounded(t *testing.T) {
	all := NewAll()
	for _, in := range []Room{Sent, Decoded} {
		first := turn(t, all, "anna")
		require.NoError(t, first.Hold(t.Context(), in, ofOne-10))
		err := turn(t, all, "anna").Hold(over(), in, 11)
		require.True(t, apierrors.IsTooManyRequests(err), "%v", err)
		after, told := apierrors.SuggestsClientDelay(err)
		require.True(t, told)
		require.Equal(t, RetryAfter, after)
		require.NoError(t, turn(t, all, "anna").Hold(t.Context(), in, 10))
		for _, person := range []string{"berta", "cleo", "dora"} {
			require.NoError(t, turn(t, all, person).Hold(t.Context(), in, ofOne))
		}
		require.True(t, apierrors.IsTooManyRequests(turn(t, all, "eve").Hold(over(), in, 1)))
		first.Leave()
		require.NoError(t, turn(t, all, "eve").Hold(t.Context(), in, 1))
		require.Empty(t, all.Reading.rooms[in].waiting)
	}
}

// What holds more than one request may has as much as that: of bodies one, of answers two of a person are under way at once.
func TestTheLargestRequests(t *testing.T) {
	for in, atOnce := range map[Room]int{Sent: 1, Decoded: 1, Answered: 2} {
		all := NewAll()
		var large []*Turn
		for range atOnce {
			one := turn(t, all, "anna")
			require.NoError(t, one.Hold(t.Context(), in, mostHeld))
			require.NoError(t, one.Hold(t.Context(), in, mostHeld), "it grows while it is made")
			large = append(large, one)
		}
		require.Error(t, turn(t, all, "anna").Hold(over(), in, 1))
		require.NoError(t, turn(t, all, "berta").Hold(t.Context(), in, mostHeld))
		large[0].Leave()
		require.NoError(t, turn(t, all, "anna").Hold(t.Context(), in, 1))
		require.Error(t, turn(t, all, "anna").Hold(over(), in, mostHeld))
	}
}

// A turn lasts, with what it holds, until all work on it has ended; what begins later holds nothing, and is refused.
func TestATurnLastsUntilItsWorkHasEnded(t *testing.T) {
	all := NewAll()
	one := turn(t, all, "anna")
	ctx := With(t.Context(), one)
	leave, err := Stay(ctx)
	require.NoError(t, err)
	one.Leave() // whoever asked has gone
	require.NoError(t, Hold(ctx, Decoded, ofOne))
	require.Error(t, turn(t, all, "anna").Hold(over(), Decoded, 1))
	require.Equal(t, 2, all.Reading.all)
	leave()
	require.NoError(t, turn(t, all, "anna").Hold(t.Context(), Decoded, ofOne))
	require.Equal(t, 2, all.Reading.all, "the refused one and this one")
	_, err = Stay(ctx)
	require.True(t, apierrors.IsTimeout(err), "%v", err)
}

// What is no request of anybody waits for nothing.
func TestWhatHasNoTurnHoldsNothing(t *testing.T) {
	require.NoError(t, Hold(t.Context(), Sent, 2*mostHeld))
	leave, err := Stay(t.Context())
	require.NoError(t, err)
	leave()
}

// Who waits is let in once there is room, in their order; who has none because of what they hold themselves holds up nobody else.
func TestWhoWaitsIsLetInInTheirOrder(t *testing.T) {
	all := NewAll()
	r := all.Reading.rooms[Decoded]
	first := turn(t, all, "anna")
	require.NoError(t, first.Hold(t.Context(), Decoded, ofOne))
	let := make(chan int64, 2)
	for i, bytes := range []int64{ofOne, 1} {
		next := turn(t, all, "anna")
		go func() {
			if next.Hold(t.Context(), Decoded, bytes) == nil {
				let <- bytes
				next.Leave()
			}
		}()
		require.Eventually(t, func() bool {
			r.mu.Lock()
			defer r.mu.Unlock()
			return len(r.waiting) > i
		}, time.Minute, time.Millisecond)
	}
	require.NoError(t, turn(t, all, "berta").Hold(t.Context(), Decoded, 1))
	first.Leave()
	require.Equal(t, []int64{ofOne, 1}, []int64{<-let, <-let})
}
