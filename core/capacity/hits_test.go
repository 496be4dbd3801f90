package capacity

import (
	"math/rand/v2"
	"testing"
	"time"
	_ "time/tzdata" // zones without a system's files

	"github.com/robfig/cron/v3"
	"github.com/stretchr/testify/require"

	"flotilla/core/api"
)

func inZone(nodes, schedule, duration, zone string) Budgets {
	b := timed(nodes, schedule, duration)
	b.TimeZone = zone
	return ParseBudgets([]api.DisruptionBudget{b}, time.LoadLocation)
}

// A freeze of four hours at half past two exists in the night clocks go forward, from the moment of the
// change, and comes once in the night they go back; it lasts four hours in both (N22).
func TestAFreezeOfEveryNight(t *testing.T) {
	for name, row := range map[string]struct {
		zone, schedule, duration string
		from                     time.Time
		want                     []string
	}{
		"forward in Berlin": {"Europe/Berlin", "30 2 * * *", "4h", time.Date(2026, 3, 28, 12, 0, 0, 0, time.UTC), []string{
			"Sat 2026-03-28 12:00 - Sun 2026-03-29 01:00  no limit",
			"Sun 2026-03-29 01:00 - Sun 2026-03-29 05:00  0",
			"Sun 2026-03-29 05:00 - Mon 2026-03-30 00:00  no limit",
		}},
		"back in Berlin": {"Europe/Berlin", "30 2 * * *", "4h", time.Date(2026, 10, 24, 12, 0, 0, 0, time.UTC), []string{
			"Sat 2026-10-24 12:00 - Sun 2026-10-25 00:30  no limit",
			"Sun 2026-10-25 00:30 - Sun 2026-10-25 04:30  0",
			"Sun 2026-10-25 04:30 - Mon 2026-10-26 00:00  no limit",
		}},
		"back in Berlin, shorter than an hour": {"Europe/Berlin", "30 2 * * *", "20m", time.Date(2026, 10, 24, 12, 0, 0, 0, time.UTC), []string{
			"Sat 2026-10-24 12:00 - Sun 2026-10-25 00:30  no limit",
			"Sun 2026-10-25 00:30 - Sun 2026-10-25 00:50  0",
			"Sun 2026-10-25 00:50 - Mon 2026-10-26 00:00  no limit",
		}},
		"forward in New York": {"America/New_York", "30 2 * * 0", "4h", time.Date(2026, 3, 7, 12, 0, 0, 0, time.UTC), []string{
			"Sat 2026-03-07 12:00 - Sun 2026-03-08 07:00  no limit",
			"Sun 2026-03-08 07:00 - Sun 2026-03-08 11:00  0",
			"Sun 2026-03-08 11:00 - Mon 2026-03-09 00:00  no limit",
		}},
		"back in New York": {"America/New_York", "30 1 * * 0", "4h", time.Date(2026, 10, 31, 12, 0, 0, 0, time.UTC), []string{
			"Sat 2026-10-31 12:00 - Sun 2026-11-01 05:30  no limit",
			"Sun 2026-11-01 05:30 - Sun 2026-11-01 09:30  0",
			"Sun 2026-11-01 09:30 - Mon 2026-11-02 00:00  no limit",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			b := inZone("0", row.schedule, row.duration, row.zone)
			until := time.Date(row.from.Year(), row.from.Month(), row.from.Day()+2, 0, 0, 0, 0, time.UTC)
			var lines []string
			for _, s := range b.Calendar(row.from, until, 5) {
				lines = append(lines, s.String())
			}
			require.Equal(t, row.want, lines)
			for at := row.from; at.Before(until); at = at.Add(10 * time.Minute) {
				next := b.NextChange(at)
				require.NotEqual(t, b.Limit(at, 5, api.ReasonEmpty, Rules{}), b.Limit(next, 5, api.ReasonEmpty, Rules{}), "the change after %s", at)
			}
		})
	}
}

// A budget counts exactly while less than its duration has passed since some wall time of its schedule was
// first shown, or skipped: counted minute by minute, around changes of clocks of every kind.
func TestBudgetsOfZonesAgreeWithCounting(t *testing.T) {
	zones := []string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Havana", "Africa/Casablanca", "Asia/Kolkata"}
	schedules := []string{"30 2 * * *", "0 2 * * 0", "15 0 * * *", "*/20 1-3 * * *", "0 * * * *", "59 23 * * 6", "30 0 1,8,29 3,11 *"}
	durations := []string{"4h", "30m", "25h", "90m", "1h"}
	random := rand.New(rand.NewPCG(22, 22))
	for range 60 {
		zone, schedule, duration := zones[random.IntN(len(zones))], schedules[random.IntN(len(schedules))], durations[random.IntN(len(durations))]
		begin := time.Date(2026, []time.Month{3, 4, 10, 11, 2}[random.IntN(5)], 1, 0, 0, 0, 0, time.UTC)
		b := inZone("0", schedule, duration, zone)
		require.NoError(t, b.Err())
		open := countedBudget(t, begin, schedule, duration, zone)
		for m := 0; m < len(open); m += 7 {
			now := begin.Add(time.Duration(m) * time.Minute)
			require.Equal(t, open[m], b.Limit(now, 5, api.ReasonEmpty, Rules{}) == 0, "%s %q for %s at %s", zone, schedule, duration, now)
		}
	}
}

// countedBudget marks the minutes of twenty days in which a window is open, by walking them one at a time.
func countedBudget(t *testing.T, begin time.Time, schedule, duration, zone string) []bool {
	t.Helper()
	place, err := time.LoadLocation(zone)
	require.NoError(t, err)
	length, err := time.ParseDuration(duration)
	require.NoError(t, err)
	parsed, err := cron.ParseStandard("TZ=UTC " + schedule)
	require.NoError(t, err)
	open := make([]bool, 20*24*60)
	latest := time.Time{} // the last wall time that was shown
	for at := begin.Add(-72 * time.Hour); at.Before(begin.Add(time.Duration(len(open)) * time.Minute)); at = at.Add(time.Minute) {
		_, offset := at.In(place).Zone()
		wall := at.UTC().Add(time.Duration(offset) * time.Second)
		if latest.IsZero() {
			latest = wall.Add(-time.Minute)
		}
		if !wall.After(latest) {
			continue
		}
		if hit := parsed.Next(latest); !hit.After(wall) {
			from := int(at.Sub(begin) / time.Minute)
			for m := max(0, from); m < min(len(open), from+int(length/time.Minute)); m++ {
				open[m] = true
			}
		}
		latest = wall
	}
	return open
}

func BenchmarkBudgetsOfAZone(b *testing.B) {
	budgets := inZone("0", "30 2 * * 1-5", "4h", "Europe/Berlin")
	for b.Loop() {
		if budgets.Limit(at(20, 12, 0), 5, api.ReasonEmpty, Rules{}) != Unbounded {
			b.Fatal("it is noon")
		}
	}
}
