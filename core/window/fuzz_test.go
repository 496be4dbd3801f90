package window

import (
	"encoding/json"
	"testing"
	"time"

	"flotilla/core/api"
	"flotilla/tests/limits"
)

// FuzzWindow reads windows as members and people write them, and asks them what the runner asks.
func FuzzWindow(f *testing.F) {
	f.Add([]byte(`{"schedule":{"weekly":{"intervalWeeks":1,"dayOfWeek":"Friday"}},"durationHours":8,"startTime":"22:00","timeZone":"Europe/Berlin","notAllowedDates":[{"start":"2026-12-24","end":"2027-01-02"}]}`))
	f.Add([]byte(`{"schedule":{"absoluteMonthly":{"intervalMonths":6,"dayOfMonth":31}},"durationHours":4,"startTime":"00:00","utcOffset":"+05:30","startDate":"9999-12-31"}`))
	f.Add([]byte(`{"schedule":{"relativeMonthly":{"intervalMonths":1,"weekIndex":"Last","dayOfWeek":"Monday"}},"durationHours":24,"startTime":"23:59"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		limits.Hold(t, 8*len(text), func() {
			var w api.MaintenanceWindow
			if json.Unmarshal(text, &w) != nil {
				return
			}
			s, err := Parse("schedule", &w, time.LoadLocation)
			if err != nil {
				return
			}
			for _, now := range []time.Time{{}, time.Unix(0, 0), time.Date(2027, 3, 28, 1, 30, 0, 0, time.UTC), time.Date(9999, 12, 31, 23, 0, 0, 0, time.UTC)} {
				s.At(now)
			}
		})
	})
}
