package overview

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
)

// many is a fleet of 10,000 members in 70 regions, of which some are silent or in trouble.
func many() []Member {
	members := make([]Member, 10_000)
	for i := range members {
		m := &members[i]
		*m = Member{
			Name: fmt.Sprintf("m%05d", i), State: api.MemberReady, Region: fmt.Sprintf("r%02d", i%70), Facts: Facts{Version: fmt.Sprintf("v1.%d.%d", 29+i%3, i%7)},
			Labels: map[string]string{"env": "prod", "tier": fmt.Sprint(i % 4), "site": fmt.Sprint(i), "team": fmt.Sprint(i % 9), api.LabelMemberName: "x"},
		}
		if i%50 == 0 {
			m.State = api.MemberUnknown
		}
	}
	return members
}

// BenchmarkMembers filters 10,000 members, counts what they may be narrowed down by, sorts them and shows 80 of them.
func BenchmarkMembers(b *testing.B) {
	members := many()
	q, faults := ParseQuery("m0 !state=NotReady label:tier=1,2,3")
	require.Empty(b, faults)
	b.ReportAllocs()
	for b.Loop() {
		rows := Filter(members, q)
		FacetsOf(rows)
		require.Nil(b, Sort(rows, "state", true))
		require.Len(b, Window(rows, 100, 80), 80)
	}
}

// BenchmarkGroups groups 10,000 members by region.
func BenchmarkGroups(b *testing.B) {
	members := many()
	b.ReportAllocs()
	for b.Loop() {
		require.Len(b, Groups(Filter(members, Query{}), "region"), MaxGroups+1)
	}
}

// BenchmarkMatrix draws 50 placements on 10,000 members each.
func BenchmarkMatrix(b *testing.B) {
	members := many()
	placements, known := make([]Placement, 50), make([][]Standing, 50)
	keys := make([]string, 50)
	for i := range placements {
		keys[i] = fmt.Sprintf("p%02d", i)
		placements[i].Key = keys[i]
		for k := range members {
			known[i] = append(known[i], Standing{members[k].Name, []string{api.EntryAvailable, api.EntryApplying}[k%2]})
		}
	}
	cells := cellsOf(b, keys, known...)
	b.ReportAllocs()
	for b.Loop() {
		require.Len(b, MatrixOf(placements, cells, members, "region").Rows, 50)
	}
}
