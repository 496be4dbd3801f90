package staged_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/stage"
)

// freezes are some by scope.
func freezes(all map[string]api.Freeze) func(string) *api.Freeze {
	return func(scope string) *api.Freeze {
		if f, found := all[scope]; found {
			f.Scope, f.By = scope, "anna"
			return &f
		}
		return nil
	}
}

// While runs, placements, or a member are frozen no member begins; those under way go on.
func TestAFrozenRunBeginsNoMember(t *testing.T) {
	for scope, says := range map[string]string{
		api.FreezeRuns:        "runs frozen by anna; flotilla unfreeze runs",
		api.FreezePlacements:  "placements frozen by anna; flotilla unfreeze placements",
		api.FreezeFleet:       "the fleet frozen by anna; flotilla unfreeze",
		api.FreezeOf("oslo"):  "member oslo frozen by anna; flotilla unfreeze member oslo",
		api.FreezeOf("other"): "",
		api.FreezeNodes:       "",
	} {
		w := fleet(t)
		w.view.Freezes = freezes(map[string]api.Freeze{scope: {}})
		w.create()
		w.wants(api.RunRun)
		w.after(time.Minute)
		m := must(stage.MemberStatus(&w.status, "oslo"))
		if says == "" {
			require.Equal(t, api.StateRunning, m.Status.State, scope)
			continue
		}
		require.Equal(t, api.StatePending, m.Status.State, scope)
		require.Equal(t, api.ReasonFrozen, m.Reason)
		require.Equal(t, says, m.Message)
		w.view.Freezes = nil
		w.after(time.Hour)
		require.Equal(t, api.StateRunning, must(stage.MemberStatus(&w.status, "oslo")).Status.State)
	}
}

// Time in which placements are frozen makes nobody stuck, nor the first minutes after it.
func TestFrozenTimeMakesNobodyStuck(t *testing.T) {
	w := fleet(t)
	w.create()
	w.wants(api.RunRun)
	w.after(time.Minute, "oslo!")
	w.view.Freezes = freezes(map[string]api.Freeze{api.FreezePlacements: {}})
	w.after(time.Hour)
	reason := func() string { return must(stage.MemberStatus(&w.status, "oslo")).Reason }
	require.NotEqual(t, api.ReasonUpdateRunStuck, reason())
	w.view.Freezes = freezes(map[string]api.Freeze{api.FreezePlacements: {Ended: new(metav1.NewTime(w.now))}})
	w.after(4 * time.Minute)
	require.NotEqual(t, api.ReasonUpdateRunStuck, reason())
	w.after(time.Minute)
	require.Equal(t, api.ReasonUpdateRunStuck, reason())
}
