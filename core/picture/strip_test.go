package picture

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/overview"
	"flotilla/core/window"
)

var noon = time.Date(2026, 3, 2, 12, 30, 0, 0, time.UTC) // a Monday

// saturdays opens from 02:00 to 06:00 on Saturdays.
func saturdays(t testing.TB) *window.Schedule {
	s, err := window.Parse("spec", &api.MaintenanceWindow{
		Schedule: api.MaintenanceSchedule{Weekly: &api.WeeklySchedule{IntervalWeeks: 1, DayOfWeek: "Saturday"}}, DurationHours: 4, StartTime: "02:00",
	}, time.LoadLocation)
	require.NoError(t, err)
	return s
}

func TestStripsCountOpenWindowsByTheHour(t *testing.T) {
	s := saturdays(t)
	to := noon.AddDate(0, 0, 7)
	at := func(day, hour, minute int) time.Time { return time.Date(2026, 3, day, hour, minute, 0, 0, time.UTC) }
	windows := []MemberWindows{
		{Member: "a", Open: s.Between(noon, to)},
		{Member: "b", Open: s.Between(noon, to)},
		{Member: "c", Always: true},
		{Member: "d", Open: []window.Opening{{Opens: at(2, 9, 0), Closes: at(2, 13, 1)}, {Opens: at(2, 13, 30), Closes: at(2, 14, 0)}, {Opens: at(9, 11, 59)}}},
	}
	members := []*overview.Member{{Name: "a", Region: "eu"}, {Name: "b", Region: "us"}, {Name: "c", Region: "eu"}, {Name: "d", Region: "eu"}}
	all := stripOf(windows, members, "zone", at(2, 12, 0), 7).Groups
	require.Len(t, all, 1, "no member is in a zone")
	require.Len(t, all[0].Open, 7*24)
	got := map[int]int{}
	for hour, n := range all[0].Open {
		if n > 0 {
			got[hour] = n
		}
	}
	saturday := int(at(7, 2, 0).Sub(at(2, 12, 0)).Hours())
	require.Equal(t, map[int]int{0: 1, 1: 1, saturday: 2, saturday + 1: 2, saturday + 2: 2, saturday + 3: 2, 7*24 - 1: 1}, got)
	require.Equal(t, []int{4, 1}, []int{all[0].Members, all[0].Always})
	strip := stripOf(windows, members, "", at(2, 12, 0), 7)
	require.Equal(t, []string{"eu", "us"}, []string{strip.Groups[0].Name, strip.Groups[1].Name})
	require.Equal(t, []int{1, 1}, []int{strip.Groups[0].Open[saturday], strip.Groups[1].Open[saturday]})
}

// zones are so many groups of two members, or three, that may always be upgraded from noon on.
func zones(n int) (members []*overview.Member, windows []MemberWindows) {
	for i := range n {
		for k := range 2 + i%2 {
			name := fmt.Sprintf("m%02d-%d", i, k)
			members = append(members, &overview.Member{Name: name, Zone: fmt.Sprintf("z%02d", i)})
			windows = append(windows, MemberWindows{Member: name, Open: []window.Opening{{Opens: noon}}})
		}
	}
	return members, windows
}

func TestStripsPutTheSmallestGroupsInOne(t *testing.T) {
	members, windows := zones(overview.MaxGroups)
	for _, g := range stripOf(windows, members, "zone", noon, 1).Groups {
		require.Zero(t, g.Rest, "as many as there may be stay by themselves")
	}
	members, windows = zones(overview.MaxGroups + 2)
	strip := stripOf(windows, members, "zone", noon, 1)
	require.Len(t, strip.Groups, overview.MaxGroups+1)
	require.Equal(t, []string{"z00", "z01"}, []string{strip.Groups[0].Name, strip.Groups[1].Name})
	last := strip.Groups[overview.MaxGroups]
	require.Equal(t, StripGroup{Name: "other", Rest: 2, Members: 4, Open: last.Open}, last)
	require.Equal(t, 4, last.Open[23])
}
