package house

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/agent/target/memory"
	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/tests/elsewhen"
)

// traced asks for a trace until it is as it should be, and holds it to what every trace promises.
func (h *house) traced(t *testing.T, name string, right func(map[string]api.TracedMember) error) api.Trace {
	t.Helper()
	var trace api.Trace
	bustest.EventuallyIn(t, patience, func() error {
		out, code := h.flotilla(t, "trace", "placement/"+name, "-o", "json")
		trace = api.Trace{}
		if err := json.Unmarshal([]byte(out), &trace); err != nil || code != 0 {
			return fmt.Errorf("exit %d, %w:\n%s", code, err, out)
		}
		members := map[string]api.TracedMember{}
		for _, m := range trace.Members {
			members[m.Member] = m
			var last time.Time
			sum := int64(0)
			for _, hop := range m.Hops {
				if hop.State != api.HopDone {
					continue
				}
				if hop.TookMs < 0 || hop.At.Time.Before(last) || hop.At.After(trace.Now.Add(time.Second)) {
					return fmt.Errorf("%s goes back, or is not yet: %+v", m.Member, m.Hops)
				}
				last, sum = hop.At.Time, sum+hop.TookMs
			}
			if sum != m.TookMs {
				return fmt.Errorf("%s: %d in all, expected the sum of %+v", m.Member, m.TookMs, m.Hops)
			}
		}
		return right(members)
	})
	return trace
}

// hop is one of a member, by its name.
func hop(m *api.TracedMember, name string) api.Hop {
	for _, h := range m.Hops {
		if h.Hop == name {
			return h
		}
	}
	return api.Hop{}
}

// Of three members one is away and one has a clock that is an hour ahead. The trace of a change is truthful about all of them, and
// goes on to be when the hub is killed and the agent comes back; the history tells what became of it, and how it was.
func TestATrace(t *testing.T) {
	t.Parallel()
	h := newHouseWith(t, []string{"--member-timeout", "5s"}, "berlin", "lima")
	right := h.now
	h.now = func() time.Time { return right().Add(time.Hour) }
	h.join(t, "oslo")
	h.now = right
	bustest.EventuallyIn(t, patience, func() error {
		if out, _ := h.flotilla(t, "get", "members"); strings.Count(out, " Ready ") != 3 {
			return fmt.Errorf("expected three members that are Ready:\n%s", out)
		}
		return nil
	})
	h.apply(t, content("shop", "one")+pickSome("shop", 3))
	h.converged(t, "shop", 3)
	first := h.traced(t, "shop", func(m map[string]api.TracedMember) error {
		oslo := m["oslo"]
		if received := hop(&oslo, api.HopReceived); len(m) != 3 || oslo.Clock == nil || received.Stated.Sub(received.At.Time).Round(time.Minute) != time.Hour {
			return fmt.Errorf("expected that oslo states times that are an hour ahead: %+v", oslo)
		}
		return nil
	})
	require.Equal(t, 3, first.Done)
	for _, m := range first.Members {
		ahead := map[bool]time.Duration{true: time.Hour}[m.Member == "oslo"]
		require.InDelta(t, ahead.Milliseconds(), m.Clock.AheadMs, 60_000, "%+v", m)
		require.False(t, m.Clock.Turned, "%+v", m)
		for _, name := range []string{api.HopApply, api.HopSchedule, api.HopRelease, api.HopCommand, api.HopReceived, api.HopApplied, api.HopAvailable, api.HopReported} {
			require.Equal(t, api.HopDone, hop(&m, name).State, "%s of %+v", name, m)
		}
		require.Less(t, m.TookMs, int64(60_000), "%+v", m)
	}

	h.told(t, "shop", "PlacementRolloutCompleted")
	between := elsewhen.Now()
	h.stopAgent(t, "lima")
	h.apply(t, content("shop", "two"))
	waiting := h.traced(t, "shop", func(m map[string]api.TracedMember) error {
		berlin, lima := m["berlin"], m["lima"]
		if received := hop(&lima, api.HopReceived); lima.Done || received.State != api.HopWaits || !strings.Contains(received.Note, "the member is away, last heard of ") {
			return fmt.Errorf("expected that lima is away: %+v", lima)
		}
		if !berlin.Done {
			return fmt.Errorf("expected that berlin is there: %+v", berlin)
		}
		return nil
	})
	require.Equal(t, "lima", waiting.Members[0].Member, "nobody has been on the way for longer")
	require.Equal(t, int64(2), waiting.Change.Snapshot)
	h.hub.Kill()
	h.hub.Start(t)
	h.startAgentWith(t, "lima", nil)
	h.converged(t, "shop", 3)
	last := h.traced(t, "shop", func(m map[string]api.TracedMember) error {
		lima := m["lima"]
		if reported := hop(&lima, api.HopReported); reported.State != api.HopDone || len(m) != 3 {
			return fmt.Errorf("expected that lima is there: %+v", lima)
		}
		return nil
	})
	require.Equal(t, 3, last.Done)
	h.theStory(t, between)
}

// join starts another member, by the clock of the house as it is now.
func (h *house) join(t *testing.T, name string) {
	t.Helper()
	h.members[name] = memory.New(memory.Options{Name: name, Nodes: nodes(t), Clock: memory.Running(h.now)})
	h.startAgent(t, name)
}

// theStory is what history tells of all that, and how it was before the second change.
func (h *house) theStory(t *testing.T, between time.Time) {
	t.Helper()
	out, code := h.flotilla(t, "history", "placement/shop", "-o", "wide")
	require.Zero(t, code, out)
	require.Regexp(t, `(?s)applied +1 +- +admin.*snapshot +- +1 +admin.*picked berlin, lima and oslo.*rollout begun +- +1 .*rollout ended +- +1 .*snapshot +- +2 +admin.*rollout begun +- +2 `, out)
	out, code = h.flotilla(t, "get", "placement", "shop", "--at", between.Format(time.RFC3339Nano), "-o", "json")
	require.Zero(t, code, out)
	var then api.PastState
	require.NoError(t, json.Unmarshal([]byte(out), &then), out)
	require.True(t, then.Existed)
	require.Equal(t, int64(1), then.Snapshot)
	require.Equal(t, 3, then.Picked)
	require.Len(t, then.Members, 3)
	require.Contains(t, string(then.Spec), `"numberOfClusters": 3`)
}
