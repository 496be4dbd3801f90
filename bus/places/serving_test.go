package places

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestServingWaitsForRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewServing(t.Context())
		require.True(t, s.Open())
		ctx, end := s.Within(t.Context())
		defer end()
		time.AfterFunc(time.Second, s.Leave)
		began := time.Now()
		require.Zero(t, s.Close(time.Minute))
		require.Equal(t, time.Second, time.Since(began))
		require.False(t, s.Open())
		synctest.Wait()
		require.ErrorIs(t, context.Cause(ctx), ErrStopped)
		require.Zero(t, s.Close(time.Minute), "once more")
	})
}

func TestServingGivesUpAfterAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewServing(t.Context())
		require.True(t, s.Open())
		require.True(t, s.Open())
		ctx, end := s.Within(t.Context())
		defer end()
		own, leave := context.WithCancel(t.Context())
		asked, over := s.Within(own)
		defer over()
		leave()
		began := time.Now()
		require.Equal(t, 2, s.Close(time.Minute))
		require.Equal(t, time.Minute, time.Since(began))
		synctest.Wait()
		require.True(t, Ended(ctx, ctx.Err()))
		require.False(t, Ended(asked, asked.Err()), "whoever asked had left")
		require.False(t, Ended(ctx, context.DeadlineExceeded))
		s.Leave()
		s.Leave()
	})
}
