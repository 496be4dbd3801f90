package budgets

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"flotilla/core/api"
)

// zeroWindow is a budget that allows nothing within its windows.
type zeroWindow struct {
	index    int
	schedule *cron.SpecSchedule
	duration time.Duration
}

// lintCovered warns of zeros whose windows leave no gap, so that nothing is ever disrupted for a reason.
func lintCovered(budgets []api.DisruptionBudget) []string {
	reasons := map[string][]string{} // by what covers them
	var order []string
	covers := map[string][]int{}
	for _, reason := range api.DisruptionReasons {
		covering := coverOf(budgets, reason)
		if len(covering) == 0 {
			continue
		}
		key := fmt.Sprint(covering)
		if reasons[key] == nil {
			order = append(order, key)
		}
		reasons[key], covers[key] = append(reasons[key], reason), covering
	}
	var warnings []string
	for _, key := range order {
		warnings = append(warnings, coveredText(budgets, covers[key], reasons[key]))
	}
	return warnings
}

func coveredText(budgets []api.DisruptionBudget, covering []int, reasons []string) string {
	blocked := "every disruption"
	if len(reasons) < len(api.DisruptionReasons) {
		blocked += " for " + strings.Join(reasons, ", ")
	}
	var windows []string
	for _, i := range covering {
		windows = append(windows, fmt.Sprintf("%q for %s", *budgets[i].Schedule, *budgets[i].Duration))
	}
	first := fmt.Sprintf("BudgetLint: spec.disruption.budgets[%d]: nodes %q ", covering[0], budgets[covering[0]].Limit())
	if len(covering) == 1 {
		return first + fmt.Sprintf("at %s blocks %s, always: each window lasts until the next begins; give it a duration that ends before that, or leave schedule and duration out when always is meant",
			windows[0], blocked)
	}
	return first + fmt.Sprintf("at %s blocks %s, always, together with %s: their windows leave no gap; shorten one of them",
		windows[0], blocked, strings.Join(windows[1:], " and "))
}

// coverOf are the budgets with windows that together allow nothing for a reason at any time, by number. None
// when an always-on zero does so anyway, which is warned of by itself. Windows of different time zones are
// not looked at together: which zones there are only the hub can say.
func coverOf(budgets []api.DisruptionBudget, reason string) []int {
	var zones []string
	zeros := map[string][]zeroWindow{}
	for i := range budgets {
		b := &budgets[i]
		if !isZero(b) || b.Reasons != nil && !slices.Contains(b.Reasons, reason) {
			continue
		}
		if b.Schedule == nil && b.Duration == nil {
			return nil
		}
		if z, ok := windowOf(b, i); ok {
			if zeros[b.TimeZone] == nil {
				zones = append(zones, b.TimeZone)
			}
			zeros[b.TimeZone] = append(zeros[b.TimeZone], z)
		}
	}
	for _, zone := range zones {
		if covering := coverAll(zeros[zone]); covering != nil {
			return covering
		}
	}
	return nil
}

func windowOf(b *api.DisruptionBudget, index int) (zeroWindow, bool) {
	if b.Schedule == nil || b.Duration == nil {
		return zeroWindow{}, false
	}
	schedule, err := api.ParseCron(*b.Schedule)
	duration, wrong := time.ParseDuration(*b.Duration)
	return zeroWindow{index, schedule, duration}, err == nil && wrong == nil && duration > 0
}

// mostWindows bounds how many windows coverAll goes through; a minute schedule has 10,080 a week.
const mostWindows = 20_000

// coverAll goes from window to window, each time to the one that lasts longest, and returns those it needed
// to come to an end without a gap; nil when there is a gap.
func coverAll(zeros []zeroWindow) []int {
	var needed []int
	at, end := period(zeros)
	for range mostWindows {
		if !at.Before(end) {
			slices.Sort(needed)
			return needed
		}
		until, by := at, -1
		for i := range zeros {
			z := &zeros[i]
			if hit := z.schedule.Next(at.Add(-z.duration)); !hit.IsZero() && !hit.After(at) && hit.Add(z.duration).After(until) {
				until, by = hit.Add(z.duration), z.index
			}
		}
		if by < 0 {
			return nil
		}
		if at = until; !slices.Contains(needed, by) {
			needed = append(needed, by)
		}
	}
	return nil
}

// everyDay is the bit of a cron field that was written as a star.
const everyDay = 1 << 63

// period is a time after which windows repeat: a week, or four years with a leap day when some schedule names
// days of months.
func period(zeros []zeroWindow) (from, to time.Time) {
	from = time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	weekly := !slices.ContainsFunc(zeros, func(z zeroWindow) bool {
		return z.schedule.Dom&everyDay == 0 || z.schedule.Month&everyDay == 0
	})
	if weekly {
		return from, from.AddDate(0, 0, 7)
	}
	return from, from.AddDate(4, 0, 0)
}
