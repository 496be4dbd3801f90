package window_test

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"
	_ "time/tzdata" // zones without a system's files

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/strict"
	"flotilla/core/window"
)

func parse(t *testing.T, w api.MaintenanceWindow) *window.Schedule {
	t.Helper()
	s, err := window.Parse("spec", &w, time.LoadLocation)
	require.NoError(t, err)
	return s
}

func at(text string) time.Time {
	when, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return when
}

func weeklyWindow(day string, every int) api.MaintenanceSchedule {
	return api.MaintenanceSchedule{Weekly: &api.WeeklySchedule{IntervalWeeks: every, DayOfWeek: day}}
}

func dailyWindow(every int) api.MaintenanceSchedule {
	return api.MaintenanceSchedule{Daily: &api.DailySchedule{IntervalDays: every}}
}

func TestNoScheduleIsClassThree(t *testing.T) {
	var s *window.Schedule
	require.Equal(t, window.Opening{Class: window.None}, s.At(at("2026-11-20T10:00:00Z")))
	require.Empty(t, s.Between(at("2026-11-20T10:00:00Z"), at("2027-11-20T10:00:00Z")))
	require.True(t, window.None.MayStart())
	require.True(t, window.Open.MayStart())
	require.False(t, window.OpeningSoon.MayStart())
	require.False(t, window.Closed.MayStart())
}

func TestOpensListsOccurrences(t *testing.T) {
	absolute := func(every, day int) api.MaintenanceSchedule {
		return api.MaintenanceSchedule{AbsoluteMonthly: &api.AbsoluteMonthlySchedule{IntervalMonths: every, DayOfMonth: day}}
	}
	relative := func(every int, week, day string) api.MaintenanceSchedule {
		return api.MaintenanceSchedule{RelativeMonthly: &api.RelativeMonthlySchedule{IntervalMonths: every, WeekIndex: week, DayOfWeek: day}}
	}
	cases := []struct {
		name string
		w    api.MaintenanceWindow
		from string
		want []string
	}{
		{
			"a short month clamps",
			api.MaintenanceWindow{Schedule: absolute(1, 31), DurationHours: 4, StartTime: "22:00", StartDate: "2026-01-01"},
			"2026-01-01T00:00:00Z",
			[]string{"2026-01-31T22:00:00Z", "2026-02-28T22:00:00Z", "2026-03-31T22:00:00Z", "2026-04-30T22:00:00Z"},
		},
		{
			"the last Monday of every second month",
			api.MaintenanceWindow{Schedule: relative(2, "Last", "Monday"), DurationHours: 6, StartTime: "23:00", UTCOffset: "+01:00", StartDate: "2026-09-01"},
			"2026-09-01T00:00:00Z",
			[]string{"2026-09-28T22:00:00Z", "2026-11-30T22:00:00Z", "2027-01-25T22:00:00Z"},
		},
		{
			"of a time that the clock shows twice the first counts",
			api.MaintenanceWindow{Schedule: dailyWindow(1), DurationHours: 4, StartTime: "02:30", TimeZone: "Europe/Amsterdam", StartDate: "2026-10-24"},
			"2026-10-24T00:00:00Z",
			[]string{"2026-10-24T00:30:00Z", "2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"},
		},
		{
			"also where the clock is not set forth again",
			api.MaintenanceWindow{Schedule: dailyWindow(1), DurationHours: 4, StartTime: "01:30", TimeZone: "Europe/Moscow", StartDate: "2014-10-25"},
			"2014-10-24T00:00:00Z",
			[]string{"2014-10-24T21:30:00Z", "2014-10-25T21:30:00Z", "2014-10-26T22:30:00Z"},
		},
		{
			"a time that the clock skips is that of the change",
			api.MaintenanceWindow{Schedule: dailyWindow(1), DurationHours: 4, StartTime: "02:30", TimeZone: "Europe/Amsterdam", StartDate: "2026-03-28"},
			"2026-03-28T00:00:00Z",
			[]string{"2026-03-28T01:30:00Z", "2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"},
		},
		{
			"the first Monday when the month begins on Sunday",
			api.MaintenanceWindow{Schedule: relative(1, "First", "Monday"), DurationHours: 4, StartTime: "00:00", StartDate: "2026-11-01"},
			"2026-11-01T00:00:00Z",
			[]string{"2026-11-02T00:00:00Z"},
		},
		{
			"the fourth Friday",
			api.MaintenanceWindow{Schedule: relative(1, "Fourth", "Friday"), DurationHours: 4, StartTime: "00:00", StartDate: "2026-10-01"},
			"2026-10-01T00:00:00Z",
			[]string{"2026-10-23T00:00:00Z"},
		},
		{
			"the last Friday is the fifth",
			api.MaintenanceWindow{Schedule: relative(1, "Last", "Friday"), DurationHours: 4, StartTime: "00:00", StartDate: "2026-10-01"},
			"2026-10-01T00:00:00Z",
			[]string{"2026-10-30T00:00:00Z"},
		},
		{
			"every second Sunday from the first match",
			api.MaintenanceWindow{Schedule: weeklyWindow("Sunday", 2), DurationHours: 4, StartTime: "01:00", StartDate: "2026-04-14"},
			"2026-04-01T00:00:00Z",
			[]string{"2026-04-19T01:00:00Z", "2026-05-03T01:00:00Z", "2026-05-17T01:00:00Z"},
		},
		{
			"every second Sunday by calendar weeks",
			api.MaintenanceWindow{Schedule: weeklyWindow("Sunday", 2), DurationHours: 4, StartTime: "01:00", StartDate: "2026-04-14", WeekAnchor: api.WeekAnchorCalendarWeek},
			"2026-04-01T00:00:00Z",
			[]string{"2026-04-26T01:00:00Z", "2026-05-10T01:00:00Z"},
		},
		{
			"a holiday swallows one of them",
			api.MaintenanceWindow{Schedule: absolute(3, 1), DurationHours: 4, StartTime: "09:00", UTCOffset: "-08:00", StartDate: "2026-10-01", NotAllowedDates: []api.DateSpan{{Start: "2026-12-23", End: "2027-01-05"}}},
			"2026-10-01T00:00:00Z",
			[]string{"2026-10-01T17:00:00Z", "2027-04-01T17:00:00Z"},
		},
		{
			"an offset moves the day",
			api.MaintenanceWindow{Schedule: weeklyWindow("Friday", 3), DurationHours: 8, StartTime: "00:00", UTCOffset: "+05:30", StartDate: "2026-11-01"},
			"2026-11-01T00:00:00Z",
			[]string{"2026-11-05T18:30:00Z", "2026-11-26T18:30:00Z"},
		},
		{
			"an offset does not follow the clock",
			api.MaintenanceWindow{Schedule: weeklyWindow("Sunday", 1), DurationHours: 4, StartTime: "02:00", UTCOffset: "+02:00", StartDate: "2026-10-20"},
			"2026-10-20T00:00:00Z",
			[]string{"2026-10-25T00:00:00Z", "2026-11-01T00:00:00Z"},
		},
		{
			"a zone does, and the first of a repeated hour counts",
			api.MaintenanceWindow{Schedule: weeklyWindow("Sunday", 1), DurationHours: 4, StartTime: "02:00", TimeZone: "Europe/Paris", StartDate: "2026-10-20"},
			"2026-10-20T00:00:00Z",
			[]string{"2026-10-25T00:00:00Z", "2026-11-01T01:00:00Z"},
		},
		{
			"a skipped hour opens at the change",
			api.MaintenanceWindow{Schedule: dailyWindow(1), DurationHours: 4, StartTime: "02:30", TimeZone: "Europe/Paris", StartDate: "2026-03-29"},
			"2026-03-29T00:00:00Z",
			[]string{"2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s, when := parse(t, c.w), at(c.from)
			for _, want := range c.want {
				o := s.At(when)
				require.Equal(t, want, o.Opens.Format(time.RFC3339))
				when = o.Closes
			}
		})
	}
}

func TestBlackoutCutsAndDrops(t *testing.T) {
	s := parse(t, api.MaintenanceWindow{
		Schedule: weeklyWindow("Tuesday", 1), DurationHours: 24, StartTime: "12:00", StartDate: "2026-11-01",
		NotAllowedDates: []api.DateSpan{{Start: "2026-11-25", End: "2026-11-25"}},
	})
	got := s.At(at("2026-11-24T12:00:00Z"))
	require.Equal(t, window.Opening{Class: window.Open, Opens: at("2026-11-24T12:00:00Z"), Closes: at("2026-11-25T00:00:00Z")}, got)
	require.Equal(t, at("2026-12-01T12:00:00Z"), s.At(at("2026-11-25T00:00:00Z")).Opens)
}

func TestDailyAroundTheClockNeverCloses(t *testing.T) {
	w := api.MaintenanceWindow{Schedule: dailyWindow(1), DurationHours: 24, StartTime: "20:00", UTCOffset: "+02:00", StartDate: "2025-01-01"}
	require.Equal(t, window.Opening{Class: window.Open, Opens: at("2025-01-01T18:00:00Z")}, parse(t, w).At(at("2026-11-20T10:00:00Z")))

	w.NotAllowedDates = []api.DateSpan{{Start: "2026-12-23", End: "2027-01-03"}}
	s := parse(t, w)
	require.Equal(t, window.Opening{Class: window.Open, Opens: at("2025-01-01T18:00:00Z"), Closes: at("2026-12-22T22:00:00Z")}, s.At(at("2026-11-20T10:00:00Z")))
	require.Equal(t, window.Closed, s.At(at("2027-01-03T17:59:59Z")).Class)
	require.Equal(t, window.OpeningSoon, s.At(at("2027-01-03T18:00:00Z")).Class)
	require.Equal(t, window.Opening{Class: window.Open, Opens: at("2027-01-03T22:00:00Z")}, s.At(at("2027-02-01T00:00:00Z")))
}

func TestFarOpeningIsClosedForGood(t *testing.T) {
	s := parse(t, api.MaintenanceWindow{Schedule: dailyWindow(1), DurationHours: 4, StartTime: "00:00", StartDate: "2028-06-01"})
	require.Equal(t, window.Opening{Class: window.Closed}, s.At(at("2026-11-20T10:00:00Z")))
	require.Empty(t, s.Between(at("2026-11-20T10:00:00Z"), at("2026-12-20T10:00:00Z")))
}

func TestBetweenIsTheCalendar(t *testing.T) {
	s := parse(t, api.MaintenanceWindow{Schedule: weeklyWindow("Saturday", 1), DurationHours: 4, StartTime: "02:00", UTCOffset: "+02:00", StartDate: "2026-01-01"})
	var opens []string
	for _, o := range s.Between(at("2026-11-21T01:00:00Z"), at("2026-12-05T00:00:00Z")) {
		opens = append(opens, o.Opens.Format(time.RFC3339))
	}
	require.Equal(t, []string{"2026-11-21T00:00:00Z", "2026-11-28T00:00:00Z"}, opens)
}

func TestParseNamesEveryFault(t *testing.T) {
	_, err := window.Parse("spec.default", &api.MaintenanceWindow{
		Schedule:        api.MaintenanceSchedule{Daily: &api.DailySchedule{IntervalDays: 8}, Weekly: &api.WeeklySchedule{IntervalWeeks: 5, DayOfWeek: "Someday"}},
		DurationHours:   3,
		StartTime:       "24:00",
		UTCOffset:       "+14:30",
		WeekAnchor:      "Never",
		NotAllowedDates: []api.DateSpan{{Start: "2026-12-24", End: "2026-12-23"}, {Start: "soon", End: "2026-12-23"}},
	}, time.LoadLocation)
	var faults strict.Faults
	require.ErrorAs(t, err, &faults)
	var paths []string
	for _, f := range faults {
		paths = append(paths, f.Path)
	}
	require.Equal(t, []string{
		"spec.default.schedule.daily.intervalDays", "spec.default.schedule.weekly.intervalWeeks", "spec.default.schedule.weekly.dayOfWeek",
		"spec.default.schedule", "spec.default.durationHours", "spec.default.startTime", "spec.default.weekAnchor", "spec.default.utcOffset",
		"spec.default.notAllowedDates[0].end", "spec.default.notAllowedDates[1].start",
	}, paths)

	for _, zone := range []string{"Mars/Olympus", "Local"} {
		_, err = window.Parse("w", &api.MaintenanceWindow{Schedule: dailyWindow(1), DurationHours: 4, StartTime: "00:00", TimeZone: zone}, time.LoadLocation)
		require.ErrorContains(t, err, "w.timeZone")
	}
	_, err = window.Parse("w", &api.MaintenanceWindow{Schedule: dailyWindow(1), DurationHours: 4, StartTime: "00:00", TimeZone: "UTC", UTCOffset: "+00:00"}, time.LoadLocation)
	require.ErrorContains(t, err, "expected one of the two")
	_, err = window.Parse("w", &api.MaintenanceWindow{Schedule: dailyWindow(1), DurationHours: 4, StartTime: "00:00", TimeZone: "UTC"},
		func(string) (*time.Location, error) { return nil, errors.New("no zones here") })
	require.ErrorContains(t, err, "w.timeZone")
}

// TestAgreesWithCounting compares At with a count, minute by minute, of the occurrences that hold an
// instant, over random schedules of whole hours.
func TestAgreesWithCounting(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	zones := []string{"", "Europe/Paris", "America/New_York", "Australia/Lord_Howe", "America/Havana"}
	for range 60 {
		w := api.MaintenanceWindow{
			Schedule: dailyWindow(1 + random.IntN(3)), DurationHours: 4 + random.IntN(21),
			StartTime: []string{"00:00", "02:30", "13:00", "23:30"}[random.IntN(4)], StartDate: "2026-10-20",
			TimeZone: zones[random.IntN(len(zones))],
		}
		if random.IntN(2) == 0 {
			w.NotAllowedDates = []api.DateSpan{{Start: "2026-10-30", End: "2026-11-01"}, {Start: "2026-11-02", End: "2026-11-02"}}
		}
		s := parse(t, w)
		open := counted(t, w)
		begin := at("2026-10-18T00:00:00Z")
		for m := 0; m < len(open); m += 10 {
			now := begin.Add(time.Duration(m) * time.Minute)
			got := s.At(now)
			require.Equal(t, open[m], got.Class == window.Open, "%+v at %s", w, now)
			for edge, opens := range map[time.Time]bool{got.Opens: true, got.Closes: false} {
				if i := int(edge.Sub(begin) / time.Minute); !edge.IsZero() && i > 0 && i < len(open) {
					require.Equal(t, []bool{!opens, opens}, open[i-1:i+1], "%+v at %s: no edge at %s", w, now, edge)
				}
			}
		}
	}
}

// counted marks the open minutes of thirty days from 2026-10-18 by walking dates one at a time.
func counted(t *testing.T, w api.MaintenanceWindow) []bool {
	t.Helper()
	zone, err := time.LoadLocation(w.TimeZone)
	require.NoError(t, err)
	begin, open := at("2026-10-18T00:00:00Z"), make([]bool, 30*24*60)
	start := at(w.StartDate + "T" + w.StartTime + ":00Z")
	for day := 0; day < 40; day += w.Schedule.Daily.IntervalDays {
		from := firstInstant(start.AddDate(0, 0, day), zone)
		for m := range w.DurationHours * 60 {
			now := from.Add(time.Duration(m) * time.Minute)
			if i := int(now.Sub(begin) / time.Minute); i >= 0 && i < len(open) {
				open[i] = !blacked(w, now.In(zone).Format(api.DateLayout))
			}
		}
	}
	return open
}

// firstInstant is the first instant at which the zone's clock shows wall or more on its date.
func firstInstant(wall time.Time, zone *time.Location) time.Time {
	for now := wall.Add(-16 * time.Hour); ; now = now.Add(time.Minute) {
		if now.In(zone).Format("2006-01-02T15:04") >= wall.Format("2006-01-02T15:04") {
			return now
		}
	}
}

func blacked(w api.MaintenanceWindow, date string) bool {
	for _, span := range w.NotAllowedDates {
		if span.Start <= date && date <= span.End {
			return true
		}
	}
	return false
}

func BenchmarkWindow(b *testing.B) {
	s, err := window.Parse("w", &api.MaintenanceWindow{
		Schedule: weeklyWindow("Saturday", 2), DurationHours: 4, StartTime: "02:00", TimeZone: "Europe/Paris", StartDate: "2026-01-01",
	}, time.LoadLocation)
	require.NoError(b, err)
	now := at("2026-11-20T10:00:00Z")
	for b.Loop() {
		if s.Next(now).Class != window.Closed {
			b.Fatal("the window is closed on a Friday")
		}
	}
}

// By the clock of a place windows of a day only touch while that clock is not changed.
func TestDailyAroundTheClockOfAPlace(t *testing.T) {
	w := api.MaintenanceWindow{Schedule: dailyWindow(1), DurationHours: 24, StartTime: "00:00", TimeZone: "Asia/Tokyo", StartDate: "2026-01-01"}
	require.Equal(t, window.Opening{Class: window.Open, Opens: at("2025-12-31T15:00:00Z")}, parse(t, w).At(at("2026-11-20T10:00:00Z")))

	w.TimeZone = "Europe/Berlin"
	require.Equal(t, window.Opening{Class: window.Open, Opens: at("2025-12-31T23:00:00Z"), Closes: at("2026-10-25T22:00:00Z")}, parse(t, w).At(at("2026-10-20T10:00:00Z")),
		"the day on which clocks are set back has 25 hours")
}
