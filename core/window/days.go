package window

import (
	"cmp"
	"slices"
	"time"

	"flotilla/core/api"
)

type kind uint8

const (
	daily kind = iota
	weekly
	monthlyByDay
	monthlyByWeekday
)

// days is the sequence of local dates on which a schedule opens, numbered from 0. Dates are numbers
// of days since 1970-01-01.
type days struct {
	kind     kind
	interval int
	first    int // daily, weekly: the date of occurrence 0
	month    int // monthly: the month of occurrence 0, counted from year 0
	day      int // monthlyByDay: 1 to 31
	week     int // monthlyByWeekday: 0 to 3, or 4 for the last
	weekday  int // 0 is Sunday
}

func newDays(w *api.MaintenanceWindow) days {
	start := dayOf(w.StartDate)
	switch s := w.Schedule; {
	case s.Daily != nil:
		return days{kind: daily, interval: s.Daily.IntervalDays, first: start}
	case s.Weekly != nil:
		weekday := slices.Index(api.UpdateWeekdays, s.Weekly.DayOfWeek)
		return days{kind: weekly, interval: 7 * s.Weekly.IntervalWeeks, first: firstWeekly(w, start, weekday)}
	case s.AbsoluteMonthly != nil:
		d := days{kind: monthlyByDay, interval: s.AbsoluteMonthly.IntervalMonths, day: s.AbsoluteMonthly.DayOfMonth}
		return d.anchored(start)
	default:
		d := days{
			kind: monthlyByWeekday, interval: s.RelativeMonthly.IntervalMonths,
			week:    slices.Index(api.WeekIndexes, s.RelativeMonthly.WeekIndex),
			weekday: slices.Index(api.UpdateWeekdays, s.RelativeMonthly.DayOfWeek),
		}
		return d.anchored(start)
	}
}

// firstWeekly is the first matching weekday from start on. Under CalendarWeek the week of start counts
// as used up when its day already passed.
func firstWeekly(w *api.MaintenanceWindow, start, weekday int) int {
	sunday := start - weekdayOf(start)
	first := sunday + weekday
	if first >= start {
		return first
	}
	if w.WeekAnchor == api.WeekAnchorCalendarWeek {
		return first + 7*w.Schedule.Weekly.IntervalWeeks
	}
	return first + 7
}

// anchored sets the month of occurrence 0: that of start, or the one after when its day passed.
func (d days) anchored(start int) days {
	year, month, _ := civil(start)
	d.month = year*12 + int(month) - 1
	if d.inMonth(d.month) < start {
		d.month++
	}
	return d
}

// at returns the date of occurrence k.
func (d *days) at(k int) int {
	if d.kind == daily || d.kind == weekly {
		return d.first + k*d.interval
	}
	return d.inMonth(d.month + k*d.interval)
}

// before returns an occurrence that is not after date, -1 or less when the sequence begins later.
func (d *days) before(date int) int {
	if d.kind == daily || d.kind == weekly {
		return floorDiv(date-d.first, d.interval)
	}
	year, month, _ := civil(date)
	return floorDiv(year*12+int(month)-1-d.month, d.interval) - 1
}

// inMonth returns the date a monthly schedule means in a month counted from year 0.
func (d *days) inMonth(month int) int {
	year, of := month/12, time.Month(month%12+1)
	first, length := dayNumber(year, of, 1), daysIn(year, of)
	if d.kind == monthlyByDay {
		return first + min(d.day, length) - 1
	}
	date := (d.weekday-weekdayOf(first)+7)%7 + 7*d.week
	if date >= length {
		date -= 7
	}
	return first + date
}

func civil(day int) (year int, month time.Month, date int) {
	return time.Unix(int64(day)*secondsPerDay, 0).UTC().Date()
}

func dayNumber(year int, month time.Month, date int) int {
	return int(time.Date(year, month, date, 0, 0, 0, 0, time.UTC).Unix() / secondsPerDay)
}

func daysIn(year int, month time.Month) int {
	return dayNumber(year, month+1, 1) - dayNumber(year, month, 1)
}

// weekdayOf returns 0 for a Sunday; 1970-01-01 was a Thursday.
func weekdayOf(day int) int { return ((day+4)%7 + 7) % 7 }

func floorDiv(a, b int) int {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

func sortSpans(spans []span) {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
}
