package status

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
)

// flap has a member say in turn that a placement failed and that it is available, each second, and returns how often each reason is told.
func (w *world) flap(t *testing.T, turns *Turns, times int) map[string]int {
	t.Helper()
	told := map[string]int{}
	for range times {
		for _, outcome := range []string{"failed", "available"} {
			w.report(t, []string{outcome, "oslo"})
			w.in.Now = w.in.Now.Add(time.Second)
			st, _ := Follow(w.in)
			var kept []api.Audit
			kept, _, *turns = turns.Keep(Events(w.in.Previous, st, w.in.Now), &st, w.in.Now)
			for _, e := range kept {
				told[e.Reason]++
			}
			w.in.Previous = &st
		}
	}
	return told
}

// A member that goes back and forth for an hour makes few events of turns, all of which are told the first time, and again for the next
// snapshot; what is a warning is told as ever.
func TestTurnsBackAndForthAreToldNowAndThen(t *testing.T) {
	w, turns := newWorld(), Turns{}
	w.snapshot(t, []string{"1"})
	w.schedule(t, []string{"all", "oslo"})
	w.release(t, []string{"1", "oslo"})
	told := w.flap(t, &turns, 1800)
	require.Equal(t, 4+5, told["PlacementAvailable"], "%v", told)
	require.Equal(t, 4+5, told[EventCompleted], "%v", told)
	require.Equal(t, 60, told[AlarmApplyFailed], "%v", told)
	require.Equal(t, 1, told["PlacementRolloutStarted"], "%v", told)

	w.snapshot(t, []string{"2"})
	w.release(t, []string{"2", "oslo"})
	require.Equal(t, 1, w.flap(t, &turns, 1)["PlacementAvailable"])
}

func TestAnotherReasonIsAlwaysKept(t *testing.T) {
	var turns Turns
	for i := range 100 {
		var kept []api.Audit
		kept, _, turns = turns.Keep([]api.Audit{{Reason: "WithdrawalUnconfirmed"}}, &api.PlacementStatus{ObservedSnapshot: fmt.Sprint(i % 2)}, time.Unix(0, 0))
		require.Len(t, kept, 1)
	}
}

// A turn that was left out is told when it may be, if it still holds then.
func TestATurnThatIsLeftOutIsToldLate(t *testing.T) {
	for name, last := range map[string]string{"it holds": "available", "it turned back": "failed"} {
		t.Run(name, func(t *testing.T) {
			w, turns := newWorld(), Turns{}
			w.snapshot(t, []string{"1"})
			w.schedule(t, []string{"all", "oslo"})
			w.release(t, []string{"1", "oslo"})
			require.Equal(t, 4, w.flap(t, &turns, 6)["PlacementAvailable"])
			w.report(t, []string{last, "oslo"})
			st, _ := Follow(w.in)
			look := func(events []api.Audit) (reasons []string, again time.Time) {
				var kept []api.Audit
				kept, again, turns = turns.Keep(events, &st, w.in.Now)
				for _, e := range kept {
					require.Equal(t, w.in.Now.UTC(), e.At.UTC())
					reasons = append(reasons, e.Reason)
				}
				return reasons, again
			}
			told, again := look(Events(w.in.Previous, st, w.in.Now))
			w.in.Previous = &st
			require.Empty(t, told)
			if last == "failed" {
				require.Zero(t, again)
				w.in.Now = w.in.Now.Add(time.Hour)
				told, _ = look(nil)
				require.Empty(t, told)
				return
			}
			require.Greater(t, again.Sub(w.in.Now), 9*time.Minute)
			told, later := look(nil)
			require.Empty(t, told)
			require.Equal(t, again, later)
			w.in.Now = again
			told, later = look(nil)
			require.Equal(t, []string{"PlacementApplied", "PlacementAvailable", EventCompleted}, told)
			require.Zero(t, later)
			told, _ = look(nil)
			require.Empty(t, told)
		})
	}
}
