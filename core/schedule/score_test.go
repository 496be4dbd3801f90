package schedule_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/schedule"
	"flotilla/core/verdict"
)

// The worked examples of the seed documents: available CPU 100, 20 and 10, descending, and CPU cost
// 1, 0.2 and 0.1, ascending.
func TestWorkedExamples(t *testing.T) {
	const cpu = api.PropertyResourcePrefix + "available-cpu"
	members := []api.Member{
		member("bravelion", property(cpu, "100"), property(api.PropertyCPUCost, "1")),
		member("smartfish", property(cpu, "20"), property(api.PropertyCPUCost, "0.2")),
		member("jumpingcat", property(cpu, "10"), property(api.PropertyCPUCost, "0.1")),
	}
	for _, c := range []struct {
		preference api.ClusterSelectorTerm
		weight     int32
		want       map[string][2]int32
	}{
		{sorter(cpu, api.Descending), 100, map[string][2]int32{"bravelion": {100, 0}, "smartfish": {11, 0}, "jumpingcat": {0, 0}}},
		{sorter(cpu, api.Descending), 20, map[string][2]int32{"bravelion": {20, 0}, "smartfish": {2, 0}, "jumpingcat": {0, 0}}},
		{sorter(api.PropertyCPUCost, api.Ascending), 100, map[string][2]int32{"bravelion": {0, 0}, "smartfish": {89, 0}, "jumpingcat": {100, 0}}},
		{sorter(api.PropertyCPUCost, api.Ascending), 20, map[string][2]int32{"bravelion": {0, 0}, "smartfish": {18, 0}, "jumpingcat": {20, 0}}},
	} {
		plan := schedule.Schedule(input(pickN(3, prefer(c.weight, c.preference)), members...))
		require.Equal(t, c.want, scores(plan.Bindings))
	}
}

func TestPreferredTerms(t *testing.T) {
	const n = "example.com/n"
	for name, c := range map[string]struct {
		policy *api.Policy
		want   map[string][2]int32 // of a (n 0, prod), b (n 5), c (n 10, prod), d (none, prod), e (no quantity)
	}{
		"labels alone":     {pickN(5, prefer(7, labelTerm("env", "prod"))), map[string][2]int32{"a": {7, 0}, "b": {0, 0}, "c": {7, 0}, "d": {7, 0}, "e": {0, 0}}},
		"neither":          {pickN(5, prefer(-3, api.ClusterSelectorTerm{})), map[string][2]int32{"a": {-3, 0}, "b": {-3, 0}, "c": {-3, 0}, "d": {-3, 0}, "e": {-3, 0}}},
		"weight zero":      {pickN(5, prefer(0, labelTerm("env", "prod"))), map[string][2]int32{"a": {0, 0}, "b": {0, 0}, "c": {0, 0}, "d": {0, 0}, "e": {0, 0}}},
		"sorter":           {pickN(5, prefer(5, sorter(n, api.Descending))), map[string][2]int32{"a": {0, 0}, "b": {3, 0}, "c": {5, 0}, "d": {0, 0}, "e": {0, 0}}},
		"half away from 0": {pickN(5, prefer(-5, sorter(n, api.Descending))), map[string][2]int32{"a": {0, 0}, "b": {-3, 0}, "c": {-5, 0}, "d": {0, 0}, "e": {0, 0}}},
		"ascending":        {pickN(5, prefer(5, sorter(n, api.Ascending))), map[string][2]int32{"a": {5, 0}, "b": {3, 0}, "c": {0, 0}, "d": {0, 0}, "e": {0, 0}}},
		"rounded before the sum": {
			pickN(5, prefer(1, sorter(n, api.Descending)), prefer(1, sorter(n, api.Descending))),
			map[string][2]int32{"a": {0, 0}, "b": {2, 0}, "c": {2, 0}, "d": {0, 0}, "e": {0, 0}},
		},
		"sorter and labels": {
			pickN(5, prefer(4, both(labelTerm("env", "prod"), sorter(n, api.Ascending)))),
			map[string][2]int32{"a": {4, 0}, "b": {0, 0}, "c": {0, 0}, "d": {0, 0}, "e": {0, 0}},
		},
		"unknown property": {pickN(5, prefer(4, sorter("example.com/unknown", api.Ascending))), map[string][2]int32{"a": {0, 0}, "b": {0, 0}, "c": {0, 0}, "d": {0, 0}, "e": {0, 0}}},
	} {
		t.Run(name, func(t *testing.T) {
			plan := schedule.Schedule(input(c.policy, member("a", label("env", "prod"), property(n, "0")), member("b", property(n, "5")),
				member("c", label("env", "prod"), property(n, "10")), member("d", label("env", "prod")), member("e", property(n, "v1"))))
			require.Equal(t, c.want, scores(plan.Bindings))
		})
	}
}

func both(labels, sorted api.ClusterSelectorTerm) api.ClusterSelectorTerm {
	labels.PropertySorter = sorted.PropertySorter
	return labels
}

// metricSorter and propertySorter are one thing (D15).
func TestSorterSpellings(t *testing.T) {
	old := api.ClusterSelectorTerm{MetricSorter: &api.PropertySorter{Name: api.PropertyNodeCountAKS, SortOrder: api.Descending}}
	members := []api.Member{member("a", property(api.PropertyNodeCount, "1")), member("b", property(api.PropertyNodeCountAKS, "3"))}
	one := input(pickN(1, prefer(9, old)), members...)
	other := input(pickN(1, prefer(9, sorter(api.PropertyNodeCount, api.Descending))), members...)
	a, b := schedule.Schedule(one), schedule.Schedule(other)
	require.Equal(t, map[string][2]int32{"b": {9, 0}}, scores(a.Bindings))
	require.Equal(t, a.Bindings, b.Bindings)
	require.Equal(t, schedule.PolicyDigest(one.Policy), schedule.PolicyDigest(other.Policy))
}

// Whoever cannot be picked does not decide who is (D30): least and greatest are those of the members that can, and of the
// others as far as these are within 32 times, as KubeFleet counts them.
func TestExtentIsOfMembersThatCount(t *testing.T) {
	const n = "example.com/n"
	prod := label("env", "prod")
	same, as := func(*api.Member) {}, func(*schedule.Input) {}
	for name, c := range map[string]struct {
		rogue func(*api.Member)
		in    func(*schedule.Input)
	}{
		"silent":         {func(m *api.Member) { m.LastHeartbeat = m.LastHeartbeat.Add(-time.Hour) }, as},
		"unhealthy":      {func(m *api.Member) { m.Healthy = "False" }, as},
		"leaving":        {func(m *api.Member) { m.Leaving = true }, as},
		"not joined":     {func(m *api.Member) { m.Joined = "False" }, as},
		"never heard of": {func(m *api.Member) { m.HasAgent = false }, as},
		"tainted":        {taint(api.Taint{Key: "full", Effect: api.EffectNoSchedule}), as},
		"excluded":       {label("env", "dev"), as},
		"evicted":        {same, func(in *schedule.Input) { in.Evicted = []string{"rogue"} }},
		"no namespace":   {func(m *api.Member) { m.NamespaceCondition = true }, func(in *schedule.Input) { in.Namespace = "apps" }},
		"kept and silent": {func(m *api.Member) { m.LastHeartbeat = m.LastHeartbeat.Add(-time.Hour) }, func(in *schedule.Input) {
			in.Existing = []schedule.Existing{{Member: "rogue", State: api.BindingBound}}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			for value, want := range map[string][2]int32{ // the scores of a and b
				"1e30": {0, 10}, "-1e30": {0, 10}, "97": {0, 10}, "-97": {0, 10}, "many": {0, 10}, "2": {0, 10},
				"96": {0, 0}, "21": {0, 1}, "-1": {5, 10},
			} {
				in := input(pickN(3, required(labelTerm("env", "prod")), prefer(10, sorter(n, api.Descending))),
					member("a", prod, property(n, "1")), member("b", prod, property(n, "3")), member("rogue", prod, property(n, value), c.rogue))
				c.in(&in)
				requireScores(t, in, value, want)
			}
		})
	}
	for name, allow := range map[string]func(*schedule.Input){
		"it can be picked":           as,
		"evicted, and allowed again": func(in *schedule.Input) { in.Evicted, in.AllowEvicted = []string{"rogue"}, true },
	} {
		in := input(pickN(3, prefer(10, sorter(n, api.Descending))),
			member("a", property(n, "1")), member("b", property(n, "3")), member("rogue", property(n, "24")))
		allow(&in)
		requireScores(t, in, name, [2]int32{0, 1})
	}
}

// Nobody alone decides how all others rank (D33): what one member reports counts as at most sixteen times what any other one
// reports, so that the others keep their distances. Two members are enough to be believed.
func TestAnOutlierLeavesTheOthersTheirRanks(t *testing.T) {
	const n = "example.com/n"
	type wants = map[string][2]int32
	for name, c := range map[string]struct {
		values string // of a, b, c and d
		order  string
		want   wants
	}{
		"none":                  {"0 2 4 8", api.Descending, wants{"a": {0}, "b": {25}, "c": {50}, "d": {100}}},
		"at the bound":          {"0 1 2 32", api.Descending, wants{"a": {0}, "b": {3}, "c": {6}, "d": {100}}},
		"beyond it":             {"0 1 2 33", api.Descending, wants{"a": {0}, "b": {3}, "c": {6}, "d": {100}}},
		"far beyond it":         {"0 1 2 1e30", api.Descending, wants{"a": {0}, "b": {3}, "c": {6}, "d": {100}}},
		"far below":             {"0 1 2 -1e12", api.Descending, wants{"a": {94}, "b": {97}, "c": {100}, "d": {0}}},
		"ascending":             {"0 1 2 1e12", api.Ascending, wants{"a": {100}, "b": {97}, "c": {94}, "d": {0}}},
		"below, ascending":      {"0 1 2 -1e12", api.Ascending, wants{"a": {6}, "b": {3}, "c": {0}, "d": {100}}},
		"below others below 0":  {"-3 -2 -1 -1e12", api.Descending, wants{"a": {96}, "b": {98}, "c": {100}, "d": {0}}},
		"two of a kind":         {"0 1 1e12 1e12", api.Descending, wants{"a": {0}, "b": {0}, "c": {100}, "d": {100}}},
		"one of two":            {"0 1 1e12 17e12", api.Descending, wants{"a": {0}, "b": {0}, "c": {6}, "d": {100}}},
		"the others alike":      {"1 1 1 1e12", api.Descending, wants{"a": {0}, "b": {0}, "c": {0}, "d": {100}}},
		"the others have none":  {"0 0 0 1", api.Descending, wants{"a": {0}, "b": {0}, "c": {0}, "d": {100}}},
		"nobody else states it": {"no no no 1e12", api.Descending, wants{"a": {0}, "b": {0}, "c": {0}, "d": {0}}},
		"one other states it":   {"no no 1 1e12", api.Descending, wants{"a": {0}, "b": {0}, "c": {0}, "d": {100}}},
	} {
		t.Run(name, func(t *testing.T) {
			var members []api.Member
			for i, value := range strings.Fields(c.values) {
				members = append(members, member(string(rune('a'+i)), property(n, value)))
			}
			in := input(pickN(4, prefer(100, sorter(n, c.order))), members...)
			plan := schedule.Schedule(in)
			require.Equal(t, c.want, scores(plan.Bindings))
			for i, unrounded := range schedule.Unrounded(in, []string{"a", "b", "c", "d"}) {
				require.InDelta(t, c.want[string(rune('a'+i))][0], unrounded, 0.5)
			}
		})
	}
}

// requireScores holds the affinity scores of a and b, rounded and not.
func requireScores(t *testing.T, in schedule.Input, what string, want [2]int32) {
	t.Helper()
	plan := schedule.Schedule(in)
	unrounded := schedule.Unrounded(in, []string{"a", "b"})
	for i, name := range []string{"a", "b"} {
		v, _ := plan.Verdicts.Of(name)
		require.Equal(t, want[i], *v.AffinityScore, "%s with %s", name, what)
		require.InDelta(t, float64(want[i]), unrounded[i], 0.5, "%s with %s", name, what)
	}
}

// Members that are all alike score nothing.
func TestAllAlikeScoreNothing(t *testing.T) {
	const n = "example.com/n"
	plan := schedule.Schedule(input(pickN(2, prefer(10, sorter(n, api.Descending))), member("a", property(n, "7")), member("b", property(n, "7.0"))))
	require.Equal(t, map[string][2]int32{"a": {0, 0}, "b": {0, 0}}, scores(plan.Bindings))
}

// Equal scores are taken by name, last first; the rank says by how much somebody missed.
func TestTiesByNameDescending(t *testing.T) {
	plan := schedule.Schedule(input(pickN(2), member("a"), member("c"), member("b"), member("d")))
	require.Equal(t, []string{"c", "d"}, names(plan.Bindings))
	require.Equal(t, map[string]string{
		"a": `rank: Cluster "a" does not score high enough (affinity score: 0, topology spread score: 0): ranks 4, wanted 2`,
		"b": `rank: Cluster "b" does not score high enough (affinity score: 0, topology spread score: 0): ranks 3, wanted 2`,
	}, reasons(&plan))
	c, _ := plan.Verdicts.Of("c")
	require.Equal(t, verdict.Verdict{
		Member: "c", Picked: true, Rank: 2, AffinityScore: new(int32), TopologySpreadScore: new(int32),
		Reason: `Successfully scheduled resources for placement in "c" (affinity score: 0, topology spread score: 0): picked by scheduling policy`,
	}, c)
}
