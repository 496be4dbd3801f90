package disruptor

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/core/disruption"
)

// A decision is made without holding fleet-wide budgets, and given up when others have spent meanwhile what it takes:
// nothing of it is written, and what is left is spent by the next one (H38).
func TestABudgetThatIsSpentMeanwhile(t *testing.T) {
	o := quick()
	o.Metrics = NewMetrics()
	h := newHarness(t, o, "berlin")
	h.state("berlin", api.MemberUnknown)
	for _, pool := range []string{"a", "b"} {
		h.pool(pool, "100%", func(p *api.NodePool) { p.Annotations = map[string]string{api.AnnotationFleetBudget: "web=2"} })
	}
	h.nodes("berlin", aNode("n1", "a", 4), aNode("n2", "b", 4))
	h.stale("berlin", "the member is Unknown")
	m := h.room.roster.get("berlin")
	hold(t, m.deciding) // the passes are the test's
	h.state("berlin", api.MemberReady)
	bustest.Eventually(t, func() error {
		if _, state, _, err := h.room.records.labels("berlin"); err != nil || state != api.MemberReady {
			return fmt.Errorf("the member is %s: %w", state, err)
		}
		return nil
	})
	m.pace = pace{}
	decisions := func() float64 { return values(t, o.Metrics)["decision_seconds{}"] }
	before := decisions()
	release := h.room.fleet.hold([]string{"web"}) // as another member does that stores its decision
	done := make(chan error, 1)
	go func() {
		_, _, err := h.room.step(bustest.Context(t), m, nil)
		done <- err
	}()
	bustest.Eventually(t, func() error {
		if n := decisions(); n == before {
			return fmt.Errorf("%g decisions were made", n)
		}
		return nil
	})
	h.room.fleet.set("elsewhere", census{pools: map[string]disruption.PoolShare{"a": {FleetCount: disruption.FleetCount{Total: 1, Disrupting: 1}}}})
	release()
	require.ErrorIs(t, <-done, bus.ErrConflict)
	require.Empty(t, h.record("berlin").Disruptions)
	require.Empty(t, m.waits())
	require.Nil(t, m.decision.Load())

	m.deciding.Leave()
	h.room.queue.Add("berlin")
	h.eventually("berlin", "empty n1 Draining")
	h.decided("berlin", "n2", "BudgetSpent")
}
