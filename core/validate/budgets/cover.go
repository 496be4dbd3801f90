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
	// hit is when the window begins that was asked for last; never says that none comes any more.
	hit   time.Time
	never bool
}

// covers finds what covers all times. Its zero value looks at nothing: left is how often it may still ask for the next window.
type covers struct {
	budgets []api.DisruptionBudget
	left    int
	found   map[string][]int // by the numbers of the budgets that were looked at
}

// mostAsked bounds how often the budgets of a pool are asked for their next window; a minute schedule has 10,080 a week.
const mostAsked = 12_000

func coversOf(budgets []api.DisruptionBudget) *covers {
	return &covers{budgets: budgets, left: mostAsked, found: map[string][]int{}}
}

// lintCovered warns of zeros whose windows leave no gap, so that nothing is ever disrupted for a reason.
func lintCovered(budgets []api.DisruptionBudget) []string {
	reasons := map[string][]string{} // by what covers them
	var order []string
	all, by := coversOf(budgets), map[string][]int{}
	for _, reason := range api.DisruptionReasons {
		covering := all.of(reason)
		if len(covering) == 0 {
			continue
		}
		key := fmt.Sprint(covering)
		if reasons[key] == nil {
			order = append(order, key)
		}
		reasons[key], by[key] = append(reasons[key], reason), covering
	}
	var warnings []string
	for _, key := range order {
		warnings = append(warnings, coveredText(budgets, by[key], reasons[key]))
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

// of are the budgets with windows that together allow nothing for a reason at any time, by number. None
// when an always-on zero does so anyway, which is warned of by itself. Windows of different time zones are
// not looked at together: which zones there are only the hub can say.
func (c *covers) of(reason string) []int {
	var zones []string
	zeros := map[string][]zeroWindow{}
	for i := range c.budgets {
		b := &c.budgets[i]
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
		if covering := c.all(zeros[zone]); covering != nil {
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
	return zeroWindow{index: index, schedule: schedule, duration: duration}, err == nil && wrong == nil && duration > 0
}

// all are the zeros that allow nothing at any time, as walk finds them.
func (c *covers) all(zeros []zeroWindow) []int {
	var numbers []int
	for i := range zeros {
		numbers = append(numbers, zeros[i].index)
	}
	key := fmt.Sprint(numbers)
	if _, known := c.found[key]; !known {
		c.found[key] = c.walk(zeros)
	}
	return c.found[key]
}

// walk goes from window to window, each time to the one that lasts longest, and returns those it needed
// to come to an end without a gap; nil when there is a gap, or when it has asked too often.
func (c *covers) walk(zeros []zeroWindow) []int {
	var needed []int
	at, end := period(zeros)
	for at.Before(end) {
		until, by := at, -1
		for i := range zeros {
			if c.left <= 0 {
				return nil
			}
			if z := &zeros[i]; c.open(z, at).After(until) {
				until, by = z.hit.Add(z.duration), z.index
			}
		}
		if by < 0 {
			return nil
		}
		if at = until; !slices.Contains(needed, by) {
			needed = append(needed, by)
		}
	}
	slices.Sort(needed)
	return needed
}

// open is when the window ends that is open at a time, zero when none is. Times must rise: the schedule is asked when they have
// passed the window that it named last, so that one that comes seldom, or never, is hardly asked.
func (c *covers) open(z *zeroWindow, at time.Time) time.Time {
	if after := at.Add(-z.duration); !z.never && !z.hit.After(after) {
		z.hit = z.schedule.Next(after)
		z.never = z.hit.IsZero()
		c.left--
	}
	if z.never || z.hit.After(at) {
		return time.Time{}
	}
	return z.hit.Add(z.duration)
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
