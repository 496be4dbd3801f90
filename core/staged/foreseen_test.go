package staged_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/intstr"

	"flotilla/core/api"
	"flotilla/core/guard"
	"flotilla/core/staged"
	"flotilla/core/upgrade"
)

// foreseen is the plan of the run of a world, in which members take two minutes and checks five.
func (w *world) foreseen() upgrade.RunPlan {
	return upgrade.PlanIn(staged.Foresee(&w.run, w.view, 5*time.Minute), w.status, w.now, upgrade.Assumptions{Duration: 2 * time.Minute})
}

// starts are when members begin and end, in minutes from now, by member.
func (w *world) starts(p *upgrade.RunPlan) map[string][2]float64 {
	out := map[string][2]float64{}
	for _, m := range p.Members {
		if m.Start != nil && m.End != nil {
			out[m.Name] = [2]float64{m.Start.Sub(w.now).Minutes(), m.End.Sub(w.now).Minutes()}
		}
	}
	return out
}

func TestAPlanOfARunIsWhatHappens(t *testing.T) {
	w := newWorld(t, "oslo tier=canary", "bonn tier=prod", "lima tier=prod", "rome tier=prod")
	w.strategy(by("canary", "canary"), atOnce(by("prod", "prod"), intstr.FromInt32(2)))
	w.create()
	p := w.foreseen()
	require.Equal(t, string(api.StateCompleted), p.State)
	require.Equal(t, 6*time.Minute, p.ExpectedEnd.Sub(w.now))
	planned := w.starts(&p)
	require.Equal(t, map[string][2]float64{"oslo": {0, 2}, "bonn": {2, 4}, "lima": {2, 4}, "rome": {4, 6}}, planned)
	require.Equal(t, api.StateNotStarted, w.state(), "a plan changes nothing")

	w.wants(api.RunRun)
	w.after(0)
	for _, answers := range [][]string{{"oslo"}, {"bonn", "lima"}, {"rome"}} {
		w.after(2*time.Minute, answers...)
	}
	require.Equal(t, api.StateCompleted, w.state())
	require.Equal(t, p.ExpectedEnd.Time, w.status.Status.CompletedTime.Time)
}

func TestAPlanCountsTheSoakOfChecks(t *testing.T) {
	w := newWorld(t, "oslo tier=canary", "bonn tier=prod")
	w.strategy(by("canary", "canary"), by("prod", "prod"))
	w.view.Strategy.Annotations = map[string]string{api.AnnotationRolloutCheck: "slow"}
	w.create()
	p := w.foreseen()
	require.Equal(t, map[string][2]float64{"oslo": {0, 2}, "bonn": {7, 9}}, w.starts(&p))
	require.Equal(t, 14*time.Minute, p.ExpectedEnd.Sub(w.now))
}

func TestAPlanSaysWhatKeepsARunFromEnding(t *testing.T) {
	t.Run("frozen", func(t *testing.T) {
		w := newWorld(t, "oslo tier=canary")
		w.strategy(by("canary", "canary"))
		w.create()
		w.view.Freezes = guard.Read(func(scope string) (api.Freeze, uint64, bool, error) {
			return api.Freeze{Scope: scope, By: "ann"}, 1, scope == api.FreezeRuns, nil
		})
		p := w.foreseen()
		require.Nil(t, p.ExpectedEnd)
		require.Equal(t, api.ReasonFrozen, p.Members[0].Reason)
		require.Contains(t, p.Members[0].Message, "ann")
	})
	t.Run("silent", func(t *testing.T) {
		w := newWorld(t, "oslo tier=canary")
		w.strategy(by("canary", "canary"))
		w.create()
		w.members["oslo"] = staged.Member{Labels: w.members["oslo"].Labels, Silent: true}
		p := w.foreseen()
		require.Nil(t, p.ExpectedEnd)
		require.Equal(t, api.ReasonUpdateRunStuck, p.Members[0].Reason)
	})
	t.Run("approval", func(t *testing.T) {
		w := newWorld(t, "oslo tier=canary")
		s := by("canary", "canary")
		s.BeforeStageTasks = []api.StageTask{{Type: api.TaskApproval}}
		w.strategy(s)
		w.create()
		p := w.foreseen()
		require.Nil(t, p.ExpectedEnd)
		require.NotEmpty(t, p.WaitsFor)
	})
}
