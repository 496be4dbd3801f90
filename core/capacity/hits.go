package capacity

import (
	"fmt"
	"time"

	"github.com/robfig/cron/v3"

	"flotilla/core/api"
	"flotilla/core/window"
)

// hits are the moments at which the windows of a budget begin. In a zone whose clock changes they follow
// the rules of maintenance windows (N22): one that the clock skips is the moment of the change, one that it
// shows twice the first.
type hits struct {
	schedule cron.Schedule
	zone     *time.Location // nil for UTC
}

// parseHits reads a schedule, of UTC or of a zone's clock.
func parseHits(text *string, zone string, zones Zones) (*hits, error) {
	line := ""
	if text != nil {
		line = *text
	}
	schedule, err := api.ParseSchedule(line)
	if err != nil {
		return nil, fmt.Errorf("schedule %q: %w", line, err)
	}
	h := &hits{schedule: schedule}
	if _, fields := schedule.(*cron.SpecSchedule); zone == "" || !fields {
		return h, nil
	}
	if zones == nil {
		return nil, fmt.Errorf("timeZone %q: no zones are known here", zone)
	}
	if h.zone, err = zones(zone); err != nil {
		return nil, fmt.Errorf("timeZone %q: %w", zone, err)
	}
	return h, nil
}

// next is the first moment after another, zero when there is none for years.
func (h *hits) next(after time.Time) time.Time {
	if h.zone == nil {
		return h.schedule.Next(after)
	}
	_, offset := after.In(h.zone).Zone()
	// A clock that goes back shows times again that have been: those are passed over.
	for wall := h.schedule.Next(after.UTC().Add(time.Duration(offset) * time.Second)); !wall.IsZero(); wall = h.schedule.Next(wall) {
		if at := window.Instant(h.zone, wall); at.After(after) {
			return at
		}
	}
	return time.Time{}
}
