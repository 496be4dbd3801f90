package overview

import (
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
)

func TestMembersAreChosenSortedAndGathered(t *testing.T) {
	for _, c := range []struct{ query, sort, by, want, fault string }{
		{want: "berlin oslo paris web-1"},
		{sort: "-name", want: "web-1 paris oslo berlin"},
		{query: "region=eu-west", sort: "-name", want: "paris berlin"},
		{by: "region", want: "oslo berlin paris web-1"},
		{sort: "-name", by: "sign", want: "oslo web-1 paris berlin"},
		{by: "state", want: "web-1 berlin paris oslo"},
		{by: "version", want: "paris oslo berlin web-1"},
		{by: "zone", want: "paris berlin oslo web-1"},
		{by: "tier", want: "oslo berlin paris web-1"},
		{by: "label:label:x", want: "paris berlin oslo web-1"},
		{query: "region=", sort: "odd", fault: `sort: found "odd", expected one of name, state`},
	} {
		rows, faults := Choose(four(), c.query, c.sort, c.by)
		if c.fault != "" {
			require.ErrorContains(t, faults, c.fault)
			require.Nil(t, rows)
			continue
		}
		require.Empty(t, faults)
		require.Equal(t, c.want, names(rows), "%+v", c)
	}
}

func TestGroupingsAreFieldsThenLabels(t *testing.T) {
	members := four()
	members[1].Labels["region"], members[2].Labels["region"] = "x", "y"
	require.Equal(t, []string{"region", "zone", "version", "state", "tier"}, Groupings(every(members)), "each once")
}

// A label that is had by more members comes first, those of as many by name, and there are twelve at most.
func TestLabelsThatMostHaveComeFirst(t *testing.T) {
	members := make([]Member, 3)
	for i := range members {
		members[i].Labels = map[string]string{"zzz": string(rune('a' + i))}
	}
	for key := 'a'; key < 'p'; key++ {
		members[0].Labels[string(key)], members[1].Labels[string(key)] = "1", "2"
	}
	facets := FacetsOf(every(members)).Labels
	require.Len(t, facets, 12)
	require.Equal(t, []string{"zzz", "a", "b"}, []string{facets[0].Key, facets[1].Key, facets[2].Key})
}

func TestTablesHoldWhatIsListed(t *testing.T) {
	groups := []Group{{Name: "eu", Members: 3, States: map[api.MemberState]int{api.MemberReady: 2, api.MemberLeaving: 1}}}
	table := GroupTable("region", groups)
	require.Equal(t, []string{"region", "members", "Ready", "Unknown", "NotReady", "Joining", "Leaving"}, table.Columns)
	require.Equal(t, [][]string{{"eu", "3", "2", "0", "0", "0", "1"}}, table.Rows)
	for _, table := range []*Table{EventTable([]api.Audit{{By: "anna"}}), PoolTable([]PoolSum{{Pool: "a"}}), NodeTable([]api.MemberNode{{}})} {
		require.Len(t, table.Columns, len(table.Rows[0]), table.Name)
	}
	_, err := EntryTable("x", []byte(`[]`))
	require.ErrorContains(t, err, "reading a placement")
}
