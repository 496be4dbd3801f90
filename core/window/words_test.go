package window

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
)

func TestSchedulesInWords(t *testing.T) {
	for want, s := range map[string]api.MaintenanceSchedule{
		"every day":                         {Daily: &api.DailySchedule{IntervalDays: 1}},
		"every 3 days":                      {Daily: &api.DailySchedule{IntervalDays: 3}},
		"every Saturday":                    {Weekly: &api.WeeklySchedule{IntervalWeeks: 1, DayOfWeek: "Saturday"}},
		"every 2 weeks on Monday":           {Weekly: &api.WeeklySchedule{IntervalWeeks: 2, DayOfWeek: "Monday"}},
		"every month on day 15":             {AbsoluteMonthly: &api.AbsoluteMonthlySchedule{IntervalMonths: 1, DayOfMonth: 15}},
		"every 3 months on the last Sunday": {RelativeMonthly: &api.RelativeMonthlySchedule{IntervalMonths: 3, WeekIndex: "Last", DayOfWeek: "Sunday"}},
		"never":                             {},
	} {
		require.Equal(t, want+" at 02:00 for 4h", Rule(&api.MaintenanceWindow{Schedule: s, StartTime: "02:00", DurationHours: 4}))
	}
	w := &api.MaintenanceWindow{
		Schedule: api.MaintenanceSchedule{Daily: &api.DailySchedule{IntervalDays: 1}}, StartTime: "02:00", DurationHours: 4, StartDate: "2026-01-01",
		NotAllowedDates: []api.DateSpan{{Start: "2026-12-24", End: "2026-12-26"}, {Start: "2027-01-01", End: "2027-01-01"}},
	}
	require.Equal(t, "every day at 02:00 for 4h, from 2026-01-01, not on 2026-12-24 to 2026-12-26 and 2027-01-01", Rule(w))
	require.Equal(t, "+00:00", ZoneName(w))
	w.UTCOffset = "+02:00"
	require.Equal(t, "+02:00", ZoneName(w))
	w.TimeZone = "Europe/Berlin"
	require.Equal(t, "Europe/Berlin", ZoneName(w))
}

// Members start where a window is open, or where there is none to wait for.
func TestClassesInWords(t *testing.T) {
	for class, want := range map[Class]struct {
		word   string
		starts bool
	}{Open: {"open", true}, OpeningSoon: {"soon", false}, None: {"none", true}, Closed: {"closed", false}} {
		require.Equal(t, want.word, class.String())
		require.Equal(t, want.starts, class.MayStart(), want.word)
	}
	require.Equal(t, "does not open within 400 days", (*Schedule)(nil).Opens(time.Time{}))
}
