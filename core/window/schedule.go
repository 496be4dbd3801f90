package window

import (
	"fmt"
	"strconv"
	"time"

	"flotilla/core/api"
	"flotilla/core/validate/upgrades"
)

// Zones finds a zone by its IANA name, as time.LoadLocation does.
type Zones func(name string) (*time.Location, error)

// Known returns the test for zone names that api's validation asks for.
func (z Zones) Known(name string) bool {
	_, err := z(name)
	return err == nil
}

// Schedule is a maintenance schedule, parsed. The nil Schedule stands for "no schedule".
type Schedule struct {
	days      days
	startTime int64 // seconds after local midnight
	duration  int64 // seconds
	clock     clock
	blackouts []span // of UTC seconds, sorted, apart from each other
	// seamless schedules open for 24 h every day of a fixed offset: one window without end.
	seamless bool
}

// span is a half-open interval of unix seconds.
type span struct{ from, to int64 }

const (
	secondsPerDay = 24 * 60 * 60
	// Horizon is how far ahead an opening, or a closing, is looked for.
	Horizon = 400 * secondsPerDay
	// Soon is the distance of an opening that makes class 2, the end included.
	Soon = 4 * 60 * 60
)

// Parse turns a schedule of a member into one that can be asked. It returns the faults of the
// schedule, with paths that begin at path, as its error. An empty start date means: since for ever.
func Parse(path string, w *api.MaintenanceWindow, zones Zones) (*Schedule, error) {
	if faults := upgrades.MaintenanceWindow(path, w, zones.Known); len(faults) > 0 {
		return nil, faults
	}
	s := &Schedule{duration: int64(w.DurationHours) * 3600, startTime: clockSeconds(w.StartTime)}
	if err := s.clock.set(w, zones); err != nil {
		return nil, fmt.Errorf("loading zone %s: %w", w.TimeZone, err)
	}
	s.days = newDays(w)
	for _, blocked := range w.NotAllowedDates {
		from, to := dayOf(blocked.Start), dayOf(blocked.End)+1
		s.blackouts = append(s.blackouts, span{s.clock.instant(from, 0), s.clock.instant(to, 0)})
	}
	s.blackouts = union(s.blackouts)
	s.seamless = s.clock.zone == nil && s.days.kind == daily && s.days.interval == 1 && s.duration == secondsPerDay
	return s, nil
}

// clockSeconds reads HH:MM that is known to be well-formed.
func clockSeconds(text string) int64 {
	return int64(digits(text[:2]))*3600 + int64(digits(text[3:]))*60
}

func digits(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		panic("window: " + text + " was validated as digits")
	}
	return n
}

// dayOf returns the number of days from 1970-01-01 to a well-formed date; 0 for an empty one.
func dayOf(text string) int {
	if text == "" {
		return 0
	}
	day, err := time.Parse(api.DateLayout, text)
	if err != nil {
		panic("window: " + text + " was validated as a date")
	}
	return int(day.Unix() / secondsPerDay)
}

// union sorts spans and merges those that overlap or touch.
func union(spans []span) []span {
	sortSpans(spans)
	out := spans[:0]
	for _, s := range spans {
		if last := len(out) - 1; last >= 0 && s.from <= out[last].to {
			out[last].to = max(out[last].to, s.to)
			continue
		}
		out = append(out, s)
	}
	return out
}

// Never returns a schedule that never opens, for members whose schedule cannot be read: what cannot be
// understood must not mean "any time".
func Never() *Schedule {
	return &Schedule{days: days{kind: daily, interval: 1, first: never}}
}

// never is a date far beyond any horizon.
const never = 1 << 30
