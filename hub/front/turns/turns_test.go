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

// What answers hold that are under way is bounded, of one person and of all; who is refused is told when to ask again.
func TestAnswersOfAPersonAndOfAllAreBounded(t *testing.T) {
	all := NewAll()
	first := turn(t, all, "anna")
	require.NoError(t, first.Hold(t.Context(), mostAnswers/partOfOne-10))
	err := turn(t, all, "anna").Hold(over(), 11)
	require.True(t, apierrors.IsTooManyRequests(err), "%v", err)
	after, told := apierrors.SuggestsClientDelay(err)
	require.True(t, told)
	require.Equal(t, RetryAfter, after)
	require.NoError(t, turn(t, all, "anna").Hold(t.Context(), 10))
	for _, person := range []string{"berta", "cleo", "dora"} {
		require.NoError(t, turn(t, all, person).Hold(t.Context(), mostAnswers/partOfOne))
	}
	require.True(t, apierrors.IsTooManyRequests(turn(t, all, "eve").Hold(over(), 1)))
	first.Leave()
	require.NoError(t, turn(t, all, "eve").Hold(t.Context(), 1))
	require.Empty(t, all.Reading.answers.waiting)
}

// An answer that holds more than one person may is alone of theirs, also where it grows while it is made.
func TestTheLargestAnswerIsAlone(t *testing.T) {
	all := NewAll()
	large := turn(t, all, "anna")
	require.NoError(t, large.Hold(t.Context(), mostAnswers))
	require.NoError(t, large.Hold(t.Context(), mostAnswers))
	require.Error(t, turn(t, all, "anna").Hold(over(), 1))
	large.Leave()
	small := turn(t, all, "anna")
	require.NoError(t, small.Hold(t.Context(), 1))
	require.Error(t, turn(t, all, "anna").Hold(over(), mostAnswers))
	require.NoError(t, turn(t, all, "berta").Hold(t.Context(), mostAnswers))
}

// Who waits is let in once there is room, in their order; who has none because of what they hold themselves holds up nobody else.
func TestWhoWaitsIsLetInInTheirOrder(t *testing.T) {
	all := NewAll()
	r := all.Reading.answers
	first := turn(t, all, "anna")
	require.NoError(t, first.Hold(t.Context(), mostAnswers/partOfOne))
	let := make(chan int64, 2)
	for i, bytes := range []int64{mostAnswers / partOfOne, 1} {
		next := turn(t, all, "anna")
		go func() {
			if next.Hold(t.Context(), bytes) == nil {
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
	require.NoError(t, turn(t, all, "berta").Hold(t.Context(), 1))
	first.Leave()
	require.Equal(t, []int64{mostAnswers / partOfOne, 1}, []int64{<-let, <-let})
}
