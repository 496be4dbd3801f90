package capacity

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/robfig/cron/v3"
	"github.com/stretchr/testify/require"

	"flotilla/core/api"
)

func timed(nodes, schedule, duration string) api.DisruptionBudget {
	return api.DisruptionBudget{Nodes: new(nodes), Schedule: &schedule, Duration: &duration}
}

func at(day, hour, minute int) time.Time {
	return time.Date(2026, 11, day, hour, minute, 0, 0, time.UTC)
}

// The seed's numbers: 20 %, at most 5, none in the first ten minutes of a day.
func TestSeedBudgets(t *testing.T) {
	b := ParseBudgets([]api.DisruptionBudget{{Nodes: new("20%")}, {Nodes: new("5")}, timed("0", "@daily", "10m")}, time.LoadLocation)
	for total, want := range map[int]Count{0: 0, 1: 1, 20: 4, 21: 5, 25: 5, 26: 5, 1000: 5} {
		require.Equal(t, want, b.Limit(at(16, 12, 0), total, api.ReasonEmpty, Rules{}), "%d nodes", total)
	}
	require.Equal(t, Count(0), b.Limit(at(16, 0, 0), 100, api.ReasonEmpty, Rules{}))
	require.Equal(t, Count(0), b.Limit(at(16, 0, 10).Add(-time.Nanosecond), 100, api.ReasonEmpty, Rules{}))
	require.Equal(t, Count(5), b.Limit(at(16, 0, 10), 100, api.ReasonEmpty, Rules{}))
}

// Nodes that are left out are the default; nodes of an empty text are no number, and allow nothing.
func TestEmptyNodesAllowNothing(t *testing.T) {
	limit := func(text string) (Count, error) {
		var d api.PoolDisruption
		require.NoError(t, json.Unmarshal([]byte(text), &d))
		b := ParseBudgets(d.Budgets, nil)
		return b.Limit(at(20, 12, 0), 100, api.ReasonEmpty, Rules{}), b.Err()
	}
	got, err := limit(`{"budgets":[{"reasons":["Empty"]}]}`)
	require.NoError(t, err)
	require.Equal(t, Count(10), got)
	got, err = limit(`{"budgets":[{"nodes":""}]}`)
	require.ErrorContains(t, err, `budgets[0]: nodes is neither a number nor a percentage: ""`)
	require.Zero(t, got)
}

// A calendar has one span for each stretch without change.
func TestCalendar(t *testing.T) {
	b := ParseBudgets([]api.DisruptionBudget{{Nodes: new("10%")}, timed("0", "0 9 * * 1-5", "8h")}, time.LoadLocation)
	var lines []string
	for _, s := range b.Calendar(at(20, 12, 0), at(24, 0, 0), 30) {
		lines = append(lines, s.String())
	}
	require.Equal(t, []string{
		"Fri 2026-11-20 12:00 - Fri 2026-11-20 17:00  0",
		"Fri 2026-11-20 17:00 - Mon 2026-11-23 09:00  3",
		"Mon 2026-11-23 09:00 - Mon 2026-11-23 17:00  0",
		"Mon 2026-11-23 17:00 - Tue 2026-11-24 00:00  3",
	}, lines)
	drift := timed("0", "0 9 * * *", "1h")
	drift.Reasons = []string{api.ReasonDrifted}
	spans := ParseBudgets([]api.DisruptionBudget{drift}, time.LoadLocation).Calendar(at(20, 9, 0), at(20, 10, 0), 5)
	require.Equal(t, "Fri 2026-11-20 09:00 - Fri 2026-11-20 10:00  Empty no limit, Underutilized no limit, Drifted 0, Expired no limit", spans[0].String())
	require.Len(t, ParseBudgets(nil, time.LoadLocation).Calendar(at(20, 9, 0), at(27, 9, 0), 5), 1)
}

// A budget that counts for no time at all changes nothing; one that never begins neither.
func TestBudgetsThatChangeNothing(t *testing.T) {
	for _, b := range []api.DisruptionBudget{{Nodes: new("5")}, timed("0", "@daily", "0s"), timed("0", "0 0 31 2 *", "1h")} {
		require.Zero(t, ParseBudgets([]api.DisruptionBudget{b}, time.LoadLocation).NextChange(at(20, 12, 0)))
	}
	daily := ParseBudgets([]api.DisruptionBudget{timed("0", "@daily", "1h")}, time.LoadLocation)
	require.Equal(t, at(21, 0, 0), daily.NextChange(at(20, 12, 0)))
	require.Equal(t, at(21, 1, 0), daily.NextChange(at(21, 0, 0)))
	require.Equal(t, at(22, 0, 0), daily.NextChange(at(21, 1, 0)))
}

// A budget's own zone (N13), and a zone that does not exist.
func TestTimeZone(t *testing.T) {
	berlin := timed("0", "0 9 * * *", "8h")
	berlin.TimeZone = "Europe/Berlin"
	b := ParseBudgets([]api.DisruptionBudget{berlin}, time.LoadLocation)
	require.Equal(t, Unbounded, b.Limit(at(20, 7, 59), 5, api.ReasonEmpty, Rules{}))
	require.Equal(t, Count(0), b.Limit(at(20, 8, 0), 5, api.ReasonEmpty, Rules{}), "nine in Berlin is eight in winter")
	require.Equal(t, Count(0), b.Limit(time.Date(2026, 7, 20, 7, 0, 0, 0, time.UTC), 5, api.ReasonEmpty, Rules{}), "and seven in summer")
	berlin.TimeZone = "Europe/Nowhere"
	require.Equal(t, Count(0), ParseBudgets([]api.DisruptionBudget{berlin}, time.LoadLocation).Limit(at(20, 12, 0), 5, api.ReasonEmpty, Rules{}))
	require.ErrorContains(t, ParseBudgets([]api.DisruptionBudget{berlin}, time.LoadLocation).Err(), "budgets[0]: timeZone \"Europe/Nowhere\"")
	require.ErrorContains(t, ParseBudgets([]api.DisruptionBudget{berlin}, nil).Err(), "no zones are known here")
}

// NextChange is when a window opens or closes next.
func TestNextChange(t *testing.T) {
	b := ParseBudgets([]api.DisruptionBudget{timed("0", "0 9 * * *", "8h"), timed("0", "0 0 31 2 *", "1h")}, time.LoadLocation)
	require.Equal(t, at(20, 9, 0), b.NextChange(at(20, 8, 0)).UTC())
	require.Equal(t, at(20, 17, 0), b.NextChange(at(20, 9, 0)).UTC())
	require.True(t, ParseBudgets([]api.DisruptionBudget{{Nodes: new("1")}}, time.LoadLocation).NextChange(at(20, 9, 0)).IsZero())
}

// asked counts how often a schedule is asked.
type asked struct {
	cron.Schedule
	times int
}

func (a *asked) Next(after time.Time) time.Time {
	a.times++
	return a.Schedule.Next(after)
}

// A calendar asks a schedule for the windows that begin or end in it, however long they last.
func TestACalendarAsksForItsOwnWindows(t *testing.T) {
	from, to := at(20, 12, 0), at(22, 12, 0)
	for _, c := range []struct {
		schedule, duration string
		most, spans        int
	}{
		{"*/7 * * * *", "8h", 2*2*216 + 8, 1},
		{"*/7 * * * *", "876000h", 2*2*216 + 8, 1},
		{"0 9 * * *", "8h", 8, 5},
		{"0 9 * * *", "87600h", 8, 1},
		{"0 0 1 1 *", "876000h", 2, 1},
		{"* * * * *", "1m", maxChanges + 2, 1},
	} {
		b := inZone("0", c.schedule, c.duration, "")
		count := &asked{Schedule: b.List[0].hits.schedule}
		b.List[0].hits.schedule = count
		changes := b.changes(from, to)
		require.LessOrEqual(t, count.times, c.most, "%s for %s", c.schedule, c.duration)
		require.Len(t, b.Calendar(from, to, 5), c.spans, "%s for %s", c.schedule, c.duration)
		require.True(t, slices.IsSortedFunc(changes, time.Time.Compare))
	}
}

// The moments at which a budget changes are the beginnings and ends of its windows, each once, whatever they are like.
func TestChangesAreBeginningsAndEnds(t *testing.T) {
	from, to := time.Date(2026, 10, 20, 12, 30, 0, 0, time.UTC), time.Date(2026, 10, 29, 0, 0, 0, 0, time.UTC)
	for _, schedule := range []string{"0 9 * * *", "30 2 * * *", "*/20 1-3 * * *", "0 0 1,25 * *", "59 23 * * 6", "0 0 29 2 *"} {
		for _, duration := range []string{"1m", "20m", "1h", "25h", "300h"} {
			for _, zone := range []string{"", "Europe/Berlin", "Australia/Lord_Howe"} {
				b := inZone("0", schedule, duration, zone)
				var want []time.Time
				one := &b.List[0]
				for hit := one.hits.next(from.Add(-one.duration)); !hit.IsZero() && !hit.After(to); hit = one.hits.next(hit) {
					for _, at := range []time.Time{hit.UTC(), hit.Add(one.duration).UTC()} {
						if at.After(from) && !at.After(to) {
							want = append(want, at)
						}
					}
				}
				slices.SortFunc(want, time.Time.Compare)
				require.Equal(t, slices.Compact(want), b.changes(from, to), "%q for %s in %q", schedule, duration, zone)
			}
		}
	}
}
