package picture_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/overview"
	"flotilla/core/picture"
)

func nightly(start, zone string) *api.MaintenanceWindow {
	return &api.MaintenanceWindow{
		Schedule: api.MaintenanceSchedule{Daily: &api.DailySchedule{IntervalDays: 1}}, DurationHours: 4, StartTime: start, TimeZone: zone,
	}
}

// almanac is the schedules of four members, one of which has none and one another's.
func almanac(t *testing.T) (*picture.Calendar, []*overview.Member) {
	t.Helper()
	m := &picture.Maintained{}
	night := &api.MaintenanceConfiguration{AutoUpgrade: nightly("22:00", "Europe/Berlin"), NodeOSUpgrade: nightly("01:00", "")}
	require.NoError(t, m.Add("bonn", night, nil))
	require.NoError(t, m.Add("graz", nil, night))
	require.NoError(t, m.Add("oslo", nil, nil))
	require.NoError(t, m.Add("yuma", &api.MaintenanceConfiguration{AutoUpgrade: nightly("11:30", "")}, night))
	require.Len(t, m.Schedules, 3, "each once")
	text, err := json.Marshal(m)
	require.NoError(t, err)
	read := &picture.Maintained{}
	require.NoError(t, json.Unmarshal(text, read))
	eu, us := map[string]string{"tier": "gold"}, map[string]string(nil)
	return picture.NewCalendar(read, time.LoadLocation), []*overview.Member{
		{Name: "bonn", Region: "eu", Labels: eu}, {Name: "graz", Region: "eu"}, {Name: "oslo", Region: "eu", Labels: eu}, {Name: "yuma", Region: "us", Labels: us},
	}
}

func TestCalendarOpensByKind(t *testing.T) {
	calendar, members := almanac(t)
	names := []string{"bonn", "oslo", "yuma", "nobody"}
	windows := calendar.Windows(names, picture.ForUpgrades, noon, noon.AddDate(0, 0, 1))
	require.Equal(t, []bool{false, true, false, true}, []bool{windows[0].Always, windows[1].Always, windows[2].Always, windows[3].Always})
	require.Equal(t, "yuma", windows[2].Member)
	require.Equal(t, noon.Add(9*time.Hour), windows[0].Open[0].Opens, "22:00 in Berlin is 21:00 of UTC in November")
	require.True(t, calendar.Windows(names, picture.ForContent, noon, noon.AddDate(0, 0, 1))[0].Always)

	strip := calendar.Strip(members, "region", picture.ForUpgrades, noon.Add(time.Minute), 1)
	require.Equal(t, noon, strip.From.Time)
	eu, us := strip.Groups[0], strip.Groups[1]
	require.Equal(t, 1, eu.Now, "oslo at any time")
	require.Equal(t, noon.Add(9*time.Hour), eu.Next.UTC())
	require.Equal(t, []int{0, 2}, []int{eu.Open[8], eu.Open[9]}, "bonn and graz")
	require.Equal(t, picture.Openings{Now: 1}, us.Openings, "open since half past eleven")
	gold := calendar.Strip(members, "tier", picture.ForContent, noon, 1).Groups[1]
	require.Equal(t, []any{"gold", 2}, []any{gold.Name, gold.Now})
}

func TestWindowsOfMembersSayWhatTheCommandLineSays(t *testing.T) {
	calendar, members := almanac(t)
	var told []string
	rows := calendar.Rows(members)
	calendar.Tell(rows, noon)
	for _, r := range rows {
		told = append(told, fmt.Sprintf("%s %s %v %s %s %s %s", r.Member, r.For, r.Open, r.Opens.UTC().Format("2 15:04"), r.Closes.UTC().Format("2 15:04"), r.Local, r.Zone))
	}
	require.Equal(t, []string{
		"bonn upgrades false 26 21:00 27 01:00 Thu 22:00 CET Europe/Berlin",
		"bonn images false 27 01:00 27 05:00 Fri 01:00 UTC +00:00",
		"graz upgrades false 26 21:00 27 01:00 Thu 22:00 CET Europe/Berlin",
		"graz images false 27 01:00 27 05:00 Fri 01:00 UTC +00:00",
		"oslo all true 1 00:00 1 00:00  ",
		"yuma upgrades true 26 11:30 26 15:30 Thu 11:30 UTC +00:00",
		"yuma images false 27 01:00 27 05:00 Fri 01:00 UTC +00:00",
	}, told)
}

func TestScheduleThatCannotBeFollowedNeverOpens(t *testing.T) {
	m := &picture.Maintained{}
	require.NoError(t, m.Add("bonn", &api.MaintenanceConfiguration{AutoUpgrade: nightly("22:00", "Europe/Atlantis")}, nil))
	calendar := picture.NewCalendar(m, time.LoadLocation)
	require.Len(t, calendar.Faults, 1)
	require.Contains(t, calendar.Faults[0], "Europe/Atlantis")
	require.Equal(t, 1, calendar.Strip([]*overview.Member{{Name: "bonn"}}, "region", picture.ForUpgrades, noon, 1).Groups[0].Never)
	require.Empty(t, calendar.Windows([]string{"bonn"}, picture.ForUpgrades, noon, noon.AddDate(1, 0, 0))[0].Open)
}

// BenchmarkCalendar has 10,000 members with 1,440 schedules.
func BenchmarkCalendar(b *testing.B) {
	m := &picture.Maintained{}
	members := make([]*overview.Member, 10_000)
	for i := range members {
		members[i] = &overview.Member{Name: fmt.Sprintf("m%05d", i), Region: fmt.Sprint("r", i%20)}
		start := fmt.Sprintf("%02d:%02d", i%24, i/24%60)
		require.NoError(b, m.Add(members[i].Name, &api.MaintenanceConfiguration{AutoUpgrade: nightly(start, "Europe/Berlin")}, nil))
	}
	calendar := picture.NewCalendar(m, time.LoadLocation)
	b.ReportAllocs()
	for b.Loop() {
		require.Len(b, calendar.Strip(members, "region", picture.ForUpgrades, noon, 14).Groups, 20)
	}
}
