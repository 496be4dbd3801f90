package budgets

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
)

func zero(schedule, duration string, reasons ...string) api.DisruptionBudget {
	return api.DisruptionBudget{Nodes: new("0"), Schedule: &schedule, Duration: &duration, Reasons: reasons}
}

// Schedules are asked for their windows a bounded number of times, however many there are; those that never come, or seldom,
// are asked a few times, and take nothing from the others.
func TestSchedulesAreAskedABoundedNumberOfTimes(t *testing.T) {
	every, hourly := zero("* * * * *", "1m"), zero("59 * 1-31 * *", "1h")
	week := 7 * 24 * 60
	for name, c := range map[string]struct {
		budgets []api.DisruptionBudget
		most    int
		want    []int
	}{
		"a minute each minute":          {[]api.DisruptionBudget{every}, week, []int{0}},
		"a day each day":                {[]api.DisruptionBudget{zero("@daily", "24h")}, 8, []int{0}},
		"a hundred years each minute":   {[]api.DisruptionBudget{zero("* * * * *", "876000h")}, week, []int{0}},
		"with many that never come":     {append(slices.Repeat([]api.DisruptionBudget{zero("0 0 31 2 *", "1m")}, 49), zero("0 0 1 * *", "744h")), 49 + 50, []int{49}},
		"with many that come seldom":    {append(slices.Repeat([]api.DisruptionBudget{zero("0 0 29 2 *", "1m")}, 49), zero("0 0 1 * *", "744h")), 49*3 + 50, []int{49}},
		"many that come each minute":    {slices.Repeat([]api.DisruptionBudget{every}, 50), mostAsked, nil},
		"many that come each hour":      {slices.Repeat([]api.DisruptionBudget{hourly}, 50), mostAsked, nil},
		"none that comes":               {slices.Repeat([]api.DisruptionBudget{zero("0 0 31 2 *", "1m")}, 50), 50, nil},
		"one that leaves a gap at once": {[]api.DisruptionBudget{zero("0 9 * * *", "8h")}, 1, nil},
	} {
		t.Run(name, func(t *testing.T) {
			all := coversOf(c.budgets)
			for _, reason := range api.DisruptionReasons {
				require.Equal(t, c.want, all.of(reason), reason)
			}
			require.LessOrEqual(t, mostAsked-all.left, c.most)
		})
	}
}

// Many schedules that never come keep no warning from those that come.
func TestSchedulesThatNeverComeHideNothing(t *testing.T) {
	p := &api.NodePool{}
	p.Spec.Disruption = &api.PoolDisruption{Budgets: append(slices.Repeat([]api.DisruptionBudget{zero("0 0 31 2 *", "1m")}, 49), zero("0 0 1-31 * *", "24h"))}
	warnings := Lint(p)
	require.Len(t, warnings, 50)
	require.Contains(t, warnings[49], `budgets[49]: nodes "0" at "0 0 1-31 * *" for 24h blocks every disruption, always`)
}
