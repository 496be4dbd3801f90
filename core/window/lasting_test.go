package window_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/window"
)

func TestLasts(t *testing.T) {
	const hour = time.Hour
	sunday := func(hours int, blocked ...api.DateSpan) api.MaintenanceWindow {
		return api.MaintenanceWindow{Schedule: weeklyWindow("Sunday", 1), DurationHours: hours, StartTime: "02:00", NotAllowedDates: blocked}
	}
	daily := func(hours int, zone string) api.MaintenanceWindow {
		return api.MaintenanceWindow{Schedule: dailyWindow(1), DurationHours: hours, StartTime: "20:00", TimeZone: zone}
	}
	now := at("2026-11-20T10:00:00Z")
	for _, c := range []struct {
		name   string
		window api.MaintenanceWindow
		now    time.Time
		d      time.Duration
		want   bool
	}{
		{"as long as the window", sunday(4), now, 4 * hour, true},
		{"longer than any", sunday(4), now, 4*hour + time.Second, false},
		{"the one that is open is nearly over, the next is as long", sunday(4), at("2026-11-22T05:59:00Z"), 4 * hour, true},
		{"a day of its own cuts every window", sunday(4, api.DateSpan{Start: "2026-11-22", End: "2028-01-02"}), now, hour, false},
		{"days without windows shorten the first alone", sunday(24, api.DateSpan{Start: "2026-11-23", End: "2026-11-23"}), now, 24 * hour, true},
		{"around the clock never closes", daily(24, ""), now, 1000 * hour, true},
		{"around a clock that goes back an hour there is a gap every autumn", daily(24, "Europe/Berlin"), now, 366 * 24 * hour, false},
		{"nothing is asked for", sunday(4), now, 0, true},
	} {
		require.Equal(t, c.want, parse(t, c.window).Lasts(c.d, c.now), c.name)
	}
	var none *window.Schedule
	require.True(t, none.Lasts(1000*hour, now))
}
