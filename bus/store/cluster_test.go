package store_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/subjects"
)

func TestThreeReplicas(t *testing.T) {
	c := bustest.HubOf(t, bustest.Cluster(t), bus.Options{})
	leader := bustest.Lead(t, c, "hub-0", store.LeadOptions{})
	require.Empty(t, leader.Layout.Differences)
	require.Equal(t, 3, replicas(t, c, subjects.State), "a cluster of three keeps three replicas unless told otherwise")

	const writers, rounds = 8, 10
	began := time.Now()
	var running sync.WaitGroup
	errs := make(chan error, writers)
	for i := range writers {
		running.Go(func() { errs <- countUp(t.Context(), leader, fmt.Sprintf("p%d", i), rounds) })
	}
	running.Wait()
	t.Log(writers*rounds, "writes in", time.Since(began))
	for range writers {
		require.NoError(t, <-errs)
	}
	other := store.NewState(c)
	bustest.InBackground(t, other.Run)
	require.NoError(t, other.WaitSynced(bustest.Context(t)))
	for _, e := range store.TableOf[api.Schedule](other, subjects.Schedules).All() {
		require.EqualValues(t, rounds, e.Value.Generation)
		require.Equal(t, leader.State.Revision("schedule."+e.Name), e.Revision, "revisions are those of the server")
	}
	takeOver(t, c)
	_, err := leader.Writer.Write(bustest.Context(t), store.Put("schedule.x", bustest.Schedule("x", 1), 0))
	require.ErrorIs(t, err, bus.ErrDeposed)
}
