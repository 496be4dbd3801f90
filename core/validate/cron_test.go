package validate

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
)

// A schedule from elsewhere is refused with its place, whatever stands before, in or after its fields.
func TestSchedulesThatAreNone(t *testing.T) {
	for schedule, expected := range map[string]string{
		"TZ=": "put the zone in timeZone", "CRON_TZ=": "put the zone in timeZone", "TZ=UTC": "put the zone in timeZone", " TZ=": "put the zone in timeZone",
		"TZ=Nowhere 0 0 * * *": "put the zone in timeZone", "CRON_TZ=../../etc/passwd 0 0 * * *": "put the zone in timeZone", "TZ=UTC @every 1ns": "put the zone in timeZone",
		"@every 1ns": "five cron fields", " @daily": "five cron fields", "@daily ": "five cron fields", "\t@midnight": "five cron fields", "@reboot": "five cron fields", "@": "five cron fields", "": "five cron fields", " ": "five cron fields",
		"0 0 TZ= * *": "five cron fields", "*/0 * * * *": "five cron fields", "0-99999999999999999999 * * * *": "five cron fields", "* * * * * *": "five cron fields",
		strings.Repeat("0,", 1<<17) + "0 * * * *": "five cron fields",
	} {
		_, _, faults := poolOf(t, poolHead+"spec: {disruption: {budgets: [{nodes: \"0\", schedule: '"+schedule+"', duration: 1h}, {nodes: \"5\"}]}}")
		require.Len(t, faults, 1, "%.40q: %v", schedule, faults)
		require.Equal(t, "spec.disruption.budgets[0].schedule", faults[0].Path, "%.40q", schedule)
		require.Contains(t, faults[0].Expected, expected, "%.40q", schedule)
		require.Less(t, len(faults[0].Found), 400, "%.40q", schedule)
	}
}

func FuzzParseCron(f *testing.F) {
	for _, seed := range []string{"0 0 * * *", "@daily", "TZ=", "CRON_TZ=", "TZ=UTC", "TZ=Nowhere 0 0 * * *", "@every 1ns", "*/5,3-9/2 1-2 29 2 SUN-fri", "0 0 31 2 *", "TZ=\t@daily"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		schedule, err := api.ParseCron(text)
		if err != nil {
			return
		}
		after := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
		next := schedule.Next(after)
		require.True(t, next.IsZero() || next.After(after), "%q: %s", text, next)
		require.Equal(t, time.UTC, schedule.Location, "%q", text)
	})
}
