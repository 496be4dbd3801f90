package window_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/window"
)

func TestLocalIsTheClockOfTheSchedule(t *testing.T) {
	const form = "Mon 15:04 MST"
	summer, winter := at("2026-07-03T23:30:00Z"), at("2026-12-04T23:30:00Z")
	for _, c := range []struct {
		zone, offset, summer, winter string
	}{
		{"", "", "Fri 23:30 UTC", "Fri 23:30 UTC"},
		{"", "+00:00", "Fri 23:30 UTC", "Fri 23:30 UTC"},
		{"", "+05:30", "Sat 05:00 +05:30", "Sat 05:00 +05:30"},
		{"", "-08:00", "Fri 15:30 -08:00", "Fri 15:30 -08:00"},
		{"Europe/Amsterdam", "", "Sat 01:30 CEST", "Sat 00:30 CET"},
	} {
		s := parse(t, api.MaintenanceWindow{
			Schedule: dailyWindow(1), DurationHours: 4, StartTime: "02:00", TimeZone: c.zone, UTCOffset: c.offset,
		})
		for instant, want := range map[time.Time]string{summer: c.summer, winter: c.winter} {
			local := s.Local(instant)
			require.Equal(t, want, local.Format(form))
			require.True(t, local.Equal(instant))
		}
	}
	var none *window.Schedule
	require.Equal(t, "Fri 23:30 UTC", none.Local(summer).Format(form))
}
