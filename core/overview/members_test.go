package overview

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
)

func every(members []Member) []*Member { return Filter(members, Query{}) }

func TestFacetsCountWhatMembersMayBeNarrowedDownBy(t *testing.T) {
	f := FacetsOf(every(four()))
	require.Equal(t, []Count{{"Ready", 2}, {"Leaving", 1}, {"Unknown", 1}}, f.State)
	require.Equal(t, []Count{{"eu-west", 2}, {"", 1}, {"eu-north", 1}}, f.Region)
	require.Equal(t, []LabelFacet{{"tier", []Count{{"dev", 1}, {"prod", 1}}}}, f.Labels, "a label with one value narrows nothing down")

	var many []Member
	for i := range 13 {
		many = append(many, Member{Labels: map[string]string{
			"few": fmt.Sprint(i % 12), "many": fmt.Sprint(i), api.LabelMemberName: fmt.Sprint(i % 2),
		}})
	}
	f = FacetsOf(every(many))
	require.Len(t, f.Labels, 1, "a label with thirteen values is none to choose by")
	require.Equal(t, "few", f.Labels[0].Key)
	require.Equal(t, Count{"0", 2}, f.Labels[0].Values[0])
}

func TestMembersAreSorted(t *testing.T) {
	at := func(hour int) metav1.Time { return metav1.NewTime(time.Date(2026, 1, 1, hour, 0, 0, 0, time.UTC)) }
	members := four()
	for i := range members {
		members[i].Since, members[i].Nodes, members[i].Placements = at(5-i), i%2, 7
	}
	for by, want := range map[string][2]string{
		"name":       {"berlin oslo paris web-1", "web-1 paris oslo berlin"},
		"state":      {"berlin paris web-1 oslo", "oslo web-1 berlin paris"},
		"since":      {"web-1 paris oslo berlin", "berlin oslo paris web-1"},
		"lastSeen":   {"berlin oslo paris web-1", "berlin oslo paris web-1"},
		"created":    {"berlin oslo paris web-1", "berlin oslo paris web-1"},
		"region":     {"web-1 oslo berlin paris", "berlin paris oslo web-1"},
		"zone":       {"berlin oslo web-1 paris", "paris berlin oslo web-1"},
		"version":    {"web-1 paris berlin oslo", "oslo berlin paris web-1"},
		"nodes":      {"berlin paris oslo web-1", "oslo web-1 berlin paris"},
		"placements": {"berlin oslo paris web-1", "berlin oslo paris web-1"},
		"troubled":   {"berlin oslo paris web-1", "berlin oslo paris web-1"},
	} {
		for i, desc := range []bool{false, true} {
			rows := every(members)
			slices.Reverse(rows)
			require.Nil(t, Sort(rows, by, desc))
			require.Equal(t, want[i], names(rows), "%s %v", by, desc)
		}
	}
	require.Len(t, sorts, 11)
	fault := Sort(every(members), "colour", false)
	require.Equal(t, `"colour"`, fault.Found)
	require.Contains(t, fault.Expected, "name, state")
}

func TestWindowsStayWithinTheRows(t *testing.T) {
	rows := []int{0, 1, 2, 3, 4}
	for _, c := range []struct {
		from, count int
		want        []int
	}{
		{0, 2, []int{0, 1}},
		{3, 9, []int{3, 4}},
		{5, 1, []int{}},
		{9, 1, []int{}},
		{-3, 1, []int{0}},
		{1, -1, []int{}},
		{2, int(^uint(0) >> 1), []int{2, 3, 4}},
	} {
		require.Equal(t, c.want, Window(rows, c.from, c.count), "%d %d", c.from, c.count)
	}
}

func TestGroupsPutTheWorstFirst(t *testing.T) {
	members := four()
	members = append(members, Member{Name: "rome", State: api.MemberReady, Region: "eu-south"}, Member{Name: "nice", State: api.MemberReady, Region: "eu-west", Troubled: 2},
		Member{Name: "kiel", State: api.MemberUnknown, Region: "eu-north"}, Member{Name: "lyon", State: api.MemberNotReady, Region: "eu-north"})
	groups := Groups(every(members), "")
	var got []string
	for _, g := range groups {
		got = append(got, fmt.Sprintf("%s %d %s", g.Name, g.Members, g.Worst))
	}
	require.Equal(t, []string{"eu-north 3 Away", " 1 Bad", "eu-west 3 Warn", "eu-south 1 Well"}, got)
	require.Equal(t, []Cell{{"kiel", api.MemberUnknown, Away}, {"oslo", api.MemberUnknown, Away}, {"lyon", api.MemberNotReady, Bad}}, groups[0].NotWell)
	require.Equal(t, BySign{Bad: 1, Away: 2}, groups[0].Signs)
	require.Equal(t, map[api.MemberState]int{api.MemberUnknown: 2, api.MemberNotReady: 1}, groups[0].States)
	require.Equal(t, Groups(every(members), "tier"), Groups(every(members), "label:tier"))
	require.Len(t, Groups(every(members), "tier"), 3)
}

func TestGroupsBeyondTheLastAreOne(t *testing.T) {
	var members []Member
	for i := range MaxGroups + 3 {
		members = append(members, Member{Name: fmt.Sprintf("m%02d", i), State: api.MemberReady, Zone: fmt.Sprintf("z%02d", i)})
	}
	members[0].State = api.MemberUnknown
	require.Len(t, Groups(every(members[:MaxGroups]), "zone"), MaxGroups)
	groups := Groups(every(members), "zone")
	require.Len(t, groups, MaxGroups+1)
	require.Equal(t, "z00", groups[0].Name)
	last := groups[MaxGroups]
	require.Equal(t, Group{Name: "other", Rest: 3, Members: 3, States: map[api.MemberState]int{api.MemberReady: 3}, Signs: BySign{Well: 3}}, last)
}

// A member that is not Ready is never well, whatever else is known of it.
func TestWhatIsNotReadyIsNeverWell(t *testing.T) {
	for _, state := range []api.MemberState{api.MemberJoining, api.MemberNotReady, api.MemberUnknown, api.MemberLeaving, "", "Sleepy"} {
		for _, leaving := range []bool{false, true} {
			require.NotEqual(t, Well, (&Member{State: state, Membership: Membership{Leaving: leaving}}).Sign(), state)
		}
	}
	require.Equal(t, Well, (&Member{State: api.MemberReady}).Sign())
	require.Equal(t, Moving, (&Member{State: api.MemberReady, Membership: Membership{Leaving: true}}).Sign())
	require.Equal(t, Warn, (&Member{State: api.MemberReady, Membership: Membership{Leaving: true}, Troubled: 1}).Sign())
}

func TestSignsAreTextAndBack(t *testing.T) {
	for _, s := range Signs() {
		text, err := s.MarshalText()
		require.NoError(t, err)
		var back Sign
		require.NoError(t, back.UnmarshalText(text))
		require.Equal(t, s, back)
		require.NotEmpty(t, s.Glyph())
	}
	require.EqualError(t, new(Sign).UnmarshalText([]byte("Fine")), `sign "Fine": expected one of [Well Moving Waiting Warn Bad Away]`)
	require.Equal(t, "Sign(9)", Sign(9).String())
	require.Equal(t, "○", Sign(9).Glyph())
}

func TestPlaceOfAMember(t *testing.T) {
	for _, c := range []struct {
		labels       map[string]string
		inventory    string
		region, zone string
	}{
		{nil, "", "", ""},
		{nil, "inv", "inv", ""},
		{map[string]string{"region": "r", "zone": "z"}, "inv", "r", "z"},
		{map[string]string{"region": "r", "topology.kubernetes.io/region": "t", "topology.kubernetes.io/zone": "tz", "zone": "z"}, "", "t", "tz"},
	} {
		region, zone := Place(c.labels, c.inventory)
		require.Equal(t, []string{c.region, c.zone}, []string{region, zone})
	}
}
