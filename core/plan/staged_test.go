package plan_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/plan"
	"flotilla/core/staged"
)

// A staged run goes by the schedule of its placement as it is, and by what the scheduler would decide where that is of another
// placement, or of an earlier version of it.
func TestWhichScheduleAStagedRunGoesBy(t *testing.T) {
	for name, c := range map[string]struct {
		schedule *api.Schedule
		want     []string
	}{
		"none yet":                {nil, []string{"berlin", "oslo"}},
		"that of the placement":   {&api.Schedule{UID: "77aa", Generation: 2}, []string{"oslo"}},
		"a later one":             {&api.Schedule{UID: "77aa", Generation: 3}, []string{"oslo"}},
		"an earlier one":          {&api.Schedule{UID: "77aa", Generation: 1}, []string{"berlin", "oslo"}},
		"of one of the same name": {&api.Schedule{UID: "other", Generation: 2}, []string{"berlin", "oslo"}},
	} {
		p := placement("web", &api.Policy{PlacementType: api.PickAll})
		p.Generation, p.Spec.Strategy.Type = 2, api.StrategyExternal
		run := plan.ContentRun{Run: &api.StagedUpdateRun{Spec: api.StagedUpdateRunSpec{PlacementName: "web", StrategyName: "all", State: api.RunRun}}}
		run.Run.Name, run.Run.Kind = "spring", api.KindClusterStagedUpdateRun
		if c.schedule != nil {
			c.schedule.Fulfilled, c.schedule.Bindings = true, []api.Binding{{Member: "oslo"}}
		}
		run.View = staged.View{
			Placement: &p, Schedule: c.schedule, Snapshots: []*api.Snapshot{{UID: "77aa", Index: 1}},
			Strategy: &api.StagedUpdateStrategy{Spec: api.StagedUpdateStrategySpec{Stages: []api.ContentStage{{Name: "all", LabelSelector: &metav1.LabelSelector{}}}}},
			Member:   func(string) (staged.Member, bool) { return staged.Member{}, true },
			Result:   func(string) *api.PlacementResult { return nil },
		}
		answer := plan.Build(plan.Input{
			Now: noon, Members: []api.Member{ready("oslo"), ready("berlin")}, Subjects: []plan.Subject{{Placement: p}}, ContentRuns: []plan.ContentRun{run},
		})
		var members []string
		for i := range answer.Runs[0].Members {
			members = append(members, answer.Runs[0].Members[i].Name)
		}
		require.Equal(t, c.want, members, name)
	}
}
