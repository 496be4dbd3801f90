package window

import (
	"time"

	"flotilla/core/api"
)

// clock turns local wall time into instants: a fixed offset, or a zone with its changes.
type clock struct {
	offset int64 // seconds east of UTC, when zone is nil
	zone   *time.Location
}

func (c *clock) set(w *api.MaintenanceWindow, zones Zones) error {
	if w.TimeZone != "" {
		zone, err := zones(w.TimeZone)
		c.zone = zone
		return err
	}
	if w.UTCOffset != "" {
		c.offset = clockSeconds(w.UTCOffset[1:])
		if w.UTCOffset[0] == '-' {
			c.offset = -c.offset
		}
	}
	return nil
}

// Instant is when the clock of a zone shows a wall time, which is given as if it were UTC. A time that the
// clock skips is the instant of the change; of one that it shows twice, the first counts.
func Instant(zone *time.Location, wall time.Time) time.Time {
	c := clock{zone: zone}
	return utc(c.instant(0, wall.Unix()))
}

// Local is an instant as the clock of the schedule shows it, in UTC without a schedule.
func (s *Schedule) Local(at time.Time) time.Time {
	switch {
	case s == nil:
		return at.UTC()
	case s.clock.zone != nil:
		return at.In(s.clock.zone)
	case s.clock.offset == 0:
		return at.UTC()
	}
	unnamed := at.In(time.FixedZone("", int(s.clock.offset)))
	return at.In(time.FixedZone(unnamed.Format("-07:00"), int(s.clock.offset)))
}

// date returns the local date at an instant.
func (c *clock) date(at int64) int {
	offset := c.offset
	if c.zone != nil {
		offset = offsetAt(c.zone, at)
	}
	return floorDiv(int(at+offset), secondsPerDay)
}

// instant returns when the wall clock shows a time of a date. A time that the clock skips is the
// instant of the change; of one that it shows twice, the first counts.
func (c *clock) instant(day int, second int64) int64 {
	wall := int64(day)*secondsPerDay + second
	if c.zone == nil {
		return wall - c.offset
	}
	guess := wall - offsetAt(c.zone, wall)
	from, to := bounds(c.zone, guess)
	if guess-from > secondsPerDay && to-guess > secondsPerDay {
		return guess
	}
	return c.nearChange(wall, from, to)
}

// nearChange resolves a wall time within a day of a change of the clock; from and to bound the
// period between changes that holds a first guess.
func (c *clock) nearChange(wall, from, to int64) int64 {
	first := farAway
	for _, inside := range []int64{from - 1, from, to} { // an instant of each period around
		if at := wall - offsetAt(c.zone, inside); offsetAt(c.zone, at) == wall-at {
			first = min(first, at)
		}
	}
	if first < farAway {
		return first
	}
	for _, change := range []int64{from, to} {
		before, after := offsetAt(c.zone, change-1), offsetAt(c.zone, change)
		if wall >= change+before && wall < change+after {
			return change
		}
	}
	return wall - offsetAt(c.zone, wall)
}

func offsetAt(zone *time.Location, at int64) int64 {
	_, offset := time.Unix(at, 0).In(zone).Zone()
	return int64(offset)
}

// farAway stands for the ends of a zone's first and last period.
const farAway = int64(1) << 40

func bounds(zone *time.Location, at int64) (from, to int64) {
	start, end := time.Unix(at, 0).In(zone).ZoneBounds()
	from, to = -farAway, farAway
	if !start.IsZero() {
		from = start.Unix()
	}
	if !end.IsZero() {
		to = end.Unix()
	}
	return from, to
}
