package member_test

import (
	"fmt"
	"testing"
	"time"

	"flotilla/bus/bustest"
	"flotilla/bus/member"
	"flotilla/core/api"
	"flotilla/subjects"

	"github.com/stretchr/testify/require"
)

// nothingIsDoubted errs while it is not known of each slot what the server has.
func nothingIsDoubted(a *member.Conn) func() error {
	return func() error {
		if slots := a.Doubted(); len(slots) > 0 {
			return fmt.Errorf("in doubt are %v", slots)
		}
		return nil
	}
}

// An agent that comes back reads the slot that it wrote last: a server that lost anything lost that too. Where it is not
// what it was, all are read, and what was lost is written again; so are they later in any case.
func TestAnAgentThatComesBackReadsTheSlotItWroteLast(t *testing.T) {
	server := bustest.Start(t)
	store := server.Lead(t)
	agent := server.Agent(t, "berlin")
	settled := func() { bustest.EventuallyIn(t, time.Minute, nothingIsDoubted(agent)) }
	settled()
	agent.SetSpread(200*time.Millisecond, time.Hour)
	require.Len(t, member.DoubtedOnceConnected(agent), subjects.ResultSlots, "nothing was ever written")
	settled()
	for i, name := range []string{"a", "b", "a"} {
		require.NoError(t, agent.PutResult(bustest.Context(t), subjects.CommandPlacement, name, api.PlacementResult{Total: i}))
	}
	older, newest := subjects.ResultSlot(subjects.CommandPlacement, "b"), subjects.ResultSlot(subjects.CommandPlacement, "a")
	require.NotEqual(t, older, newest)
	require.Equal(t, []int{newest}, member.DoubtedOnceConnected(agent))
	settled()

	lost := []func() error{
		bustest.LoseResult(t, store, "berlin", subjects.CommandPlacement, "b"),
		bustest.LoseResult(t, store, "berlin", subjects.CommandPlacement, "a"),
	}
	require.Equal(t, []int{newest}, member.DoubtedOnceConnected(agent))
	for _, again := range lost {
		bustest.EventuallyIn(t, time.Minute, again)
	}
	settled()

	require.NoError(t, agent.PutResult(bustest.Context(t), subjects.CommandPlacement, "a", api.PlacementResult{Total: 3}))
	damaged := bustest.LoseResult(t, store, "berlin", subjects.CommandPlacement, "b")
	agent.SetSpread(200*time.Millisecond, time.Second)
	require.Equal(t, []int{newest}, member.DoubtedOnceConnected(agent))
	bustest.EventuallyIn(t, 30*time.Second, damaged)
}
