package why_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/schedule"
	"flotilla/core/why"
)

// biggest prefers members of many nodes.
func biggest(weight int32) func(*api.Policy) {
	return func(p *api.Policy) {
		p.Affinity.ClusterAffinity.Preferred = []api.PreferredClusterTerm{{
			Weight: weight, Preference: api.ClusterSelectorTerm{PropertySorter: &api.PropertySorter{Name: api.PropertyNodeCount, SortOrder: api.Descending}},
		}}
	}
}

// Scores are rounded before they rank, as recorded. Where that makes members equal the answer says so,
// and what they have before rounding.
func TestRankAmongEqualRoundedScores(t *testing.T) {
	in := input(pickN(1, biggest(1)), member("large", nodes("9")), member("small", nodes("5")), member("tiny", nodes("0")), member("huge", nodes("10")))
	a := why.Explain(in, "large")
	require.Equal(t, 2, a.Verdict.Rank)
	require.Equal(t, &why.Tie{Count: 3, Members: []why.Tied{
		{Member: "small", Rank: 1, Affinity: 0.5}, {Member: "large", Rank: 2, Affinity: 0.9}, {Member: "huge", Rank: 3, Affinity: 1},
	}}, a.Tie)
	require.Contains(t, a.String(), "  tie: 3 members have these scores after rounding and rank by name, z before a, those in use first; "+
		"affinity before rounding: small (0.5), large (0.9), huge (1)\n")

	require.Nil(t, why.Explain(in, "tiny").Tie, "nobody else has its score")
	in.Policy = pickN(1, biggest(100))
	require.Nil(t, why.Explain(in, "large").Tie, "rounded to 90, 50 and 100")
}

func TestRankAmongEqualScores(t *testing.T) {
	in := input(pickN(1, nil), member("a"), member("b"), member("c"))
	in.Existing = []schedule.Existing{{Member: "a", State: api.BindingBound}}
	bound := why.Explain(in, "b")
	require.Contains(t, bound.String(), "  tie: 2 members have these scores and rank by name, z before a, those in use first: c, b\n")

	members := make([]api.Member, 30)
	for i := range members {
		members[i] = member(fmt.Sprintf("m%02d", i))
	}
	tie := why.Explain(input(pickN(1, nil), members...), "m00").Tie
	require.Equal(t, 30, tie.Count)
	require.Len(t, tie.Members, 10)
	require.Equal(t, "m29", tie.Members[0].Member)
	require.Equal(t, why.Tied{Member: "m00", Rank: 30}, tie.Members[9], "the one that was asked for is among them")
	require.Contains(t, tie.String(), "m22, m21, m00 and 20 more")

	require.Nil(t, why.Explain(input(nil, members...), "m00").Tie, "a PickAll ranks nobody")
	require.Nil(t, why.Explain(input(&api.Policy{PlacementType: api.PickFixed, ClusterNames: []string{"m00"}}, members...), "m00").Tie)
}
