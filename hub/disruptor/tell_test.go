package disruptor

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
)

// All nodes that a member may have are told of at once, and a member whose nodes change without end makes one event a second after that.
func TestEventsOfNodesHaveABound(t *testing.T) {
	now, told := time.Unix(0, 0), telling{}
	kept, told := told.within(make([]api.Audit, 40_000), now)
	require.Len(t, kept, 40_000)
	warnings := make([]api.Audit, 50_000)
	for i := range warnings {
		warnings[i].Type = "Warning"
	}
	kept, told = told.within(warnings, now)
	require.Len(t, kept, 40_000, "warnings are counted apart")
	sum := 0
	for range 60 {
		now = now.Add(time.Second)
		kept, told = told.within(make([]api.Audit, 4000), now)
		sum += len(kept)
	}
	require.Equal(t, 60, sum)
	kept, _ = told.within(make([]api.Audit, 4000), now.Add(time.Hour))
	require.Len(t, kept, 3600)
}

func TestThatEventsAreLeftOutIsTold(t *testing.T) {
	h := newHarness(t, Options{}, "berlin")
	m := &memberState{name: "berlin"}
	h.room.tellLeftOut(m, 0)
	require.Zero(t, m.telling.warned)
	h.room.tellLeftOut(m, 5)
	warned := m.telling.warned
	require.NotZero(t, warned)
	for range 3 {
		h.room.tellLeftOut(m, 5)
	}
	require.Equal(t, warned, m.telling.warned, "once")
	h.told("member/berlin", "EventsLeftOut", "40,000 at once and one a second")
}
