package window

import (
	"cmp"
	"fmt"
	"strings"

	"flotilla/core/api"
)

// ZoneName names the clock of a schedule: an IANA zone, or an offset, "+00:00" without one.
func ZoneName(w *api.MaintenanceWindow) string { return cmp.Or(w.TimeZone, w.UTCOffset, "+00:00") }

// Rule says in words when a schedule opens: "every Saturday at 02:00 for 4h, not on 2026-12-24 to 2026-12-26".
func Rule(w *api.MaintenanceWindow) string {
	rule := daysText(&w.Schedule) + fmt.Sprintf(" at %s for %dh", w.StartTime, w.DurationHours)
	if w.StartDate != "" {
		rule += ", from " + w.StartDate
	}
	var blocked []string
	for _, span := range w.NotAllowedDates {
		text := span.Start
		if span.End != span.Start {
			text += " to " + span.End
		}
		blocked = append(blocked, text)
	}
	if len(blocked) > 0 {
		rule += ", not on " + strings.Join(blocked, " and ")
	}
	return rule
}

// daysText says on which days a schedule opens.
func daysText(s *api.MaintenanceSchedule) string {
	switch {
	case s.Daily != nil:
		return every(s.Daily.IntervalDays, "day")
	case s.Weekly != nil && s.Weekly.IntervalWeeks > 1:
		return fmt.Sprintf("%s on %s", every(s.Weekly.IntervalWeeks, "week"), s.Weekly.DayOfWeek)
	case s.Weekly != nil:
		return "every " + s.Weekly.DayOfWeek
	case s.AbsoluteMonthly != nil:
		return fmt.Sprintf("%s on day %d", every(s.AbsoluteMonthly.IntervalMonths, "month"), s.AbsoluteMonthly.DayOfMonth)
	case s.RelativeMonthly != nil:
		return fmt.Sprintf("%s on the %s %s", every(s.RelativeMonthly.IntervalMonths, "month"), strings.ToLower(s.RelativeMonthly.WeekIndex), s.RelativeMonthly.DayOfWeek)
	}
	return "never"
}

func every(n int, what string) string {
	if n == 1 {
		return "every " + what
	}
	return fmt.Sprintf("every %d %ss", n, what)
}
