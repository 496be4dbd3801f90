package overview

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMembersAreNarrowedDown(t *testing.T) {
	said := func(query string) (lines []string) {
		q, faults := ParseQuery(query)
		require.Empty(t, faults)
		for _, way := range Narrow(query, Filter(four(), q)) {
			for _, v := range way.Values {
				q, faults := ParseQuery(v.Query)
				require.Empty(t, faults, v.Query)
				if !v.On {
					require.Len(t, Filter(four(), q), v.Members, v.Query)
				}
				lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s %d > %s", way.Name, v.Value, v.Members, v.Query)))
			}
		}
		return lines
	}
	require.Equal(t, []string{
		"state Ready 2 > state=Ready", "state Leaving 1 > state=Leaving", "state Unknown 1 > state=Unknown",
		"region eu-west 2 > region=eu-west", `region  1 > region=""`, "region eu-north 1 > region=eu-north",
		`version  1 > version=""`, "version v1.3.1 1 > version=v1.3.1", "version v1.31.10 1 > version=v1.31.10", "version v1.31.2 1 > version=v1.31.2",
		"tier dev 1 > label:tier=dev", "tier prod 1 > label:tier=prod",
	}, said(""))
	require.Equal(t, []string{"state Ready 1 >  region=eu-west !paris"}, []string{strings.Replace(said("state=Ready region=eu-west !paris")[0], "> ", ">  ", 1)})
	require.Contains(t, said("region=eu-west paris"), "region eu-west 1 > paris")
}

func TestTermsAreToggled(t *testing.T) {
	for _, c := range []struct{ query, term, want string }{
		{"", "a=b", "a=b"},
		{"x", "a=b", "x a=b"},
		{"a=b", "a=b", ""},
		{"x a=b y", "a=b", "x y"},
		{"xa=b", "a=b", "xa=b a=b"},
		{`label:c="d  e"  x`, "x", `label:c="d  e"`},
	} {
		got, on := Toggle(c.query, c.term)
		require.Equal(t, c.want, got, c.query)
		require.Equal(t, !strings.Contains(got, c.term), on, c.query)
	}
	require.Equal(t, `label:city name="New York"`, Term("city name", "New York"))
	require.Equal(t, "label:tier=gold", Term("label:tier", "gold"))
}

func TestSpansOfRows(t *testing.T) {
	rows := make([]int, 10_000)
	for from, want := range map[int]string{
		0: "rows 1 to 80 of 10,000 <> 80", 80: "rows 81 to 160 of 10,000 <0> 160", 30: "rows 31 to 110 of 10,000 <0> 110",
		9_990: "rows 9,991 to 10,000 of 10,000 <9910> ", 1e9: "rows 10,000 to 10,000 of 10,000 <9919> ", -5: "rows 1 to 80 of 10,000 <> 80",
	} {
		shown, span := SpanOf(rows, from, 80)
		require.Equal(t, want, fmt.Sprintf("%s <%s> %s", span, span.Before(), span.After()))
		require.Len(t, shown, span.Count)
	}
	_, none := SpanOf([]int{}, 7, 80)
	require.Equal(t, "no rows", none.String())
	require.Empty(t, none.Before()+none.After())
}

func TestHeadingsSortAndTurn(t *testing.T) {
	at := func(sort, name string) Heading {
		for _, h := range Headings(sort) {
			if h.Name == name {
				return h
			}
		}
		return Heading{}
	}
	require.Equal(t, Heading{"Name", "-name", "ascending"}, at("", "Name"))
	require.Equal(t, Heading{"Name", "name", ""}, at("-state", "Name"))
	require.Equal(t, Heading{"State", "state", "descending"}, at("-state", "State"))
	require.Equal(t, Heading{"State", "-state", "ascending"}, at("state", "State"))
	require.Equal(t, Heading{"Taints", "", ""}, at("name", "Taints"))
	for _, h := range Headings("") {
		if h.Sort != "" {
			require.Contains(t, sorts, strings.TrimPrefix(h.Sort, "-"))
		}
	}
}
