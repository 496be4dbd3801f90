package loop_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/bus/loop"
)

// After the end nothing begins, whoever begins it while somebody waits for the end, and all that began is over.
func TestNothingBeginsAfterTheEnd(t *testing.T) {
	for range 200 {
		var works loop.Works
		var going, after atomic.Int64
		var callers sync.WaitGroup
		for range 4 {
			callers.Go(func() {
				begins := true
				for begins {
					begins = works.Go(func() {
						going.Add(1)
						going.Add(-1)
					})
				}
				after.Add(1)
			})
		}
		require.True(t, works.Go(func() {}))
		works.End()
		require.Zero(t, going.Load())
		callers.Wait()
		require.EqualValues(t, 4, after.Load())
		works.End()
		require.False(t, works.Go(func() { t.Error("it began") }))
	}
}
