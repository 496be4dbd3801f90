package schedule_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/schedule"
	"flotilla/core/sim"
	"flotilla/core/verdict"
)

func zone(value string) func(*api.Member) { return label("zone", value) }

// Every pick is scored against the picks before it: while all domains are equal it raises the skew,
// and the only empty domain lowers it.
func TestSpreadScoresAgainstEarlierPicks(t *testing.T) {
	plan := schedule.Schedule(input(pickN(4, spread("zone", 1, api.DoNotSchedule)),
		member("a", zone("1")), member("b", zone("1")), member("c", zone("2")), member("d", zone("2"))))
	require.Equal(t, map[string][2]int32{"d": {0, -1}, "b": {0, 1}, "c": {0, -1}, "a": {0, 1}}, scores(plan.Bindings))
}

// Members without the label are concerned by no constraint: they beat those that raise the skew.
func TestUnlabelledMembersComeEarly(t *testing.T) {
	plan := schedule.Schedule(input(pickN(2, spread("zone", 1, api.DoNotSchedule)),
		member("z1", zone("1")), member("z2", zone("2")), member("a"), member("b")))
	require.Equal(t, map[string][2]int32{"a": {0, 0}, "b": {0, 0}}, scores(plan.Bindings))
}

// A domain of members that cannot be picked stays empty and blocks the others.
func TestEmptyDomainBlocks(t *testing.T) {
	offline := func(m *api.Member) { m.HasAgent = false }
	plan := schedule.Schedule(input(pickN(3, spread("zone", 1, api.DoNotSchedule)),
		member("a", zone("1")), member("b", zone("1")), member("down", zone("2"), offline)))
	require.Equal(t, map[string][2]int32{"b": {0, -1}}, scores(plan.Bindings))
	require.False(t, plan.Fulfilled)
	require.Equal(t, `spread: ClusterUnschedulable, violated doNotSchedule topology spread constraint "zone" (max skew 1): "1" holds 1, emptiest 0, fullest 1`,
		reasons(&plan)["a"])
	require.Equal(t, "could not find all clusters needed as specified by the scheduling policy, found 1 cluster(s) instead of 3", plan.Message)
}

func stated(key string) func(*api.Member) {
	return func(m *api.Member) { m.Agent.Stated = append(m.Agent.Stated, key) }
}

// A domain that agents alone state holds others back only if two of its members can be picked (D32). One that people wrote
// always does.
func TestAStatedDomainHoldsNobodyBack(t *testing.T) {
	sick := func(m *api.Member) { m.Healthy, m.HealthChanged = "False", sim.Now.Add(-time.Hour) }
	refused := taint(api.Taint{Key: "x", Effect: "NoSchedule"})
	stated, placed := stated("zone"), []schedule.Existing{{Member: "mallory", State: api.BindingBound}}
	for what, c := range map[string]struct {
		existing []schedule.Existing
		mallory  []func(*api.Member)
		other    []func(*api.Member) // of the same domain; nil for none
		picked   int
	}{
		"stated, and sick":                       {nil, []func(*api.Member){stated, sick}, nil, 6},
		"stated, and tainted":                    {nil, []func(*api.Member){stated, refused}, nil, 6},
		"stated, and to be picked":               {nil, []func(*api.Member){stated}, nil, 7},
		"stated, and picked":                     {placed, []func(*api.Member){stated}, nil, 7},
		"stated, to be picked, the other sick":   {nil, []func(*api.Member){stated}, []func(*api.Member){stated, sick}, 7},
		"stated by two, both sick":               {nil, []func(*api.Member){stated, sick}, []func(*api.Member){stated, sick}, 6},
		"stated by two, both to be picked":       {nil, []func(*api.Member){stated}, []func(*api.Member){stated}, 8},
		"stated by two, one picked":              {placed, []func(*api.Member){stated}, []func(*api.Member){stated}, 8},
		"stated, to be picked, and written once": {nil, []func(*api.Member){stated}, []func(*api.Member){sick}, 5},
		"written, and to be picked":              {nil, []func(*api.Member){}, nil, 5},
		"written, and sick":                      {nil, []func(*api.Member){sick}, nil, 2},
	} {
		members := []api.Member{member("mallory", append(c.mallory, zone("nowhere"))...)}
		if c.other != nil {
			members = append(members, member("other", append(c.other, zone("nowhere"))...))
		}
		for i := range 6 {
			members = append(members, member(fmt.Sprint("m", i), zone(fmt.Sprint(i%2))))
		}
		in := input(pickN(8, spread("zone", 1, api.DoNotSchedule)), members...)
		in.Existing = c.existing
		require.Len(t, schedule.Schedule(in).Bindings, c.picked, what)
	}
}

// A member that can be picked gains nothing over the others by a zone of its own (D32): as many are found as with the zone that
// the others have, and nobody's score says that a constraint is violated.
func TestADomainOfOneHoldsNobodyBack(t *testing.T) {
	zones := func(names ...string) (members []api.Member) {
		for _, z := range names {
			members = append(members, member(fmt.Sprint(z, len(members)), zone(z)))
		}
		return members
	}
	one := zones("a", "a", "a", "a", "a", "a", "a", "a", "a", "a")
	three := zones("a", "a", "a", "a", "b", "b", "b", "b", "c", "c", "c", "c")
	for _, c := range []struct {
		others []api.Member
		picks  int32
	}{{one, 8}, {one, 11}, {three, 12}, {three, 13}} {
		for _, says := range []string{"a", "nowhere"} {
			for _, when := range []string{api.DoNotSchedule, api.ScheduleAnyway} {
				fleet := append([]api.Member{member("mallory", zone(says), stated("zone"))}, c.others...)
				plan := schedule.Schedule(input(pickN(c.picks, spread("zone", 1, when)), fleet...))
				require.Len(t, plan.Bindings, int(c.picks), "mallory says %s, %s", says, when)
				for name, s := range scores(plan.Bindings) {
					require.GreaterOrEqual(t, s[1], int32(-1), "%s, mallory says %s, %s", name, says, when)
				}
			}
		}
	}
}

// Nor does a member that changes its zone to one of its own while the placement stands (D32): what is wanted more, or was lost,
// is found among the others. Its own domain counts for itself, which is refused where that is too empty beside the others.
func TestADomainOfOneHoldsNoStandingPlacementBack(t *testing.T) {
	for _, c := range []struct {
		want   int32
		placed []string
		found  []string
		holds  int // the zone of the others before the last pick
	}{
		{6, []string{"m2", "m3", "m4", "m5"}, []string{"m0", "m1", "m2", "m3", "m4", "m5"}, 5},
		{4, []string{"m3", "m4", "m5"}, []string{"m2", "m3", "m4", "m5"}, 3},
		{7, []string{"m2", "m3", "m4", "m5"}, []string{"m0", "m1", "m2", "m3", "m4", "m5"}, 6},
	} {
		members := []api.Member{member("mallory", zone("nowhere"), stated("zone"))}
		for i := range 6 {
			members = append(members, member(fmt.Sprint("m", i), zone("a")))
		}
		in := input(pickN(c.want, spread("zone", 1, api.DoNotSchedule)), members...)
		for _, name := range c.placed {
			in.Existing = append(in.Existing, schedule.Existing{Member: name, State: api.BindingBound})
		}
		plan := schedule.Schedule(in)
		require.Equal(t, c.found, names(plan.Bindings))
		require.Equal(t, fmt.Sprintf(`spread: ClusterUnschedulable, violated doNotSchedule topology spread constraint "zone" (max skew 1): "nowhere" holds 0, emptiest 0, fullest %d`, c.holds),
			reasons(&plan)["mallory"])
	}
}

// A refusal names the emptiest domain of those that count for the member (D32).
func TestARefusalNamesWhatCountsForTheMember(t *testing.T) {
	in := input(pickN(6, spread("zone", 1, api.DoNotSchedule)), member("mallory", zone("nowhere"), stated("zone")),
		member("a1", zone("a")), member("a2", zone("a")), member("a3", zone("a")), member("a4", zone("a")), member("b1", zone("b")), member("b2", zone("b")))
	for _, name := range []string{"a1", "a2", "a3", "b1", "b2"} {
		in.Existing = append(in.Existing, schedule.Existing{Member: name, State: api.BindingBound})
	}
	const violated = `spread: ClusterUnschedulable, violated doNotSchedule topology spread constraint "zone" (max skew 1): `
	plan := schedule.Schedule(in)
	require.Equal(t, map[string]string{
		"a4":      violated + `"a" holds 3, emptiest 2, fullest 3`,
		"mallory": violated + `"nowhere" holds 0, emptiest 0, fullest 3`,
	}, reasons(&plan))
}

// A domain counts for evicted members as it did for those before them: those that a constraint refused can be picked (D32).
func TestAStatedDomainCountsForEvictedMembers(t *testing.T) {
	for what, c := range map[string]struct {
		stating []api.Member
		picked  int
	}{
		"by one": {[]api.Member{member("b1", zone("b"), stated("zone"))}, 4},
		"by two": {[]api.Member{member("b1", zone("b"), stated("zone")), member("b2", zone("b"), stated("zone"))}, 3},
	} {
		in := input(pickN(4, spread("zone", 1, api.DoNotSchedule)),
			append(c.stating, member("a1", zone("a")), member("a2", zone("a")), member("a3", zone("a")), member("gone", zone("a")))...)
		for _, name := range []string{"a1", "a2", "a3"} {
			in.Existing = append(in.Existing, schedule.Existing{Member: name, State: api.BindingBound})
		}
		in.Evicted, in.AllowEvicted = []string{"gone"}, true
		require.Len(t, schedule.Schedule(in).Bindings, c.picked, what)
	}
}

// Over random fleets of equal scores: a member more, with domains that its agent alone states, takes at most its own place (D32).
func TestNobodyIsHeldBackByADomainOfOne(t *testing.T) {
	constrained := 0
	forSeeds(t, func(t *testing.T, seed uint64) {
		in, members := randomInput(seed)
		if in.Policy.Type() != api.PickN || len(in.Policy.TopologySpreadConstraints) == 0 {
			return
		}
		constrained++
		in.Policy.Affinity.ClusterAffinity.Preferred = nil
		before := schedule.Schedule(in)
		mallory := member("mallory")
		for _, c := range in.Policy.TopologySpreadConstraints {
			mallory.Labels[c.TopologyKey] = "nowhere"
			mallory.Agent.Stated = append(mallory.Agent.Stated, c.TopologyKey)
		}
		in.Fleet = schedule.NewFleet(append(members, mallory)...)
		after := schedule.Schedule(in)
		require.GreaterOrEqual(t, len(after.Bindings), len(before.Bindings))
		kept := map[string]bool{}
		for _, b := range after.Bindings {
			kept[b.Member] = true
		}
		lost := 0
		for _, b := range before.Bindings {
			if !kept[b.Member] {
				lost++
			}
		}
		require.LessOrEqual(t, lost, 1)
	})
	require.Positive(t, constrained)
}

// A single domain counts as a skew of 1, never more.
func TestSingleDomain(t *testing.T) {
	members := []api.Member{member("a", zone("1")), member("b", zone("1")), member("c", zone("1"))}
	plan := schedule.Schedule(input(pickN(3, spread("zone", 1, api.DoNotSchedule)), members...))
	require.Equal(t, map[string][2]int32{"a": {0, -1}, "b": {0, -1}, "c": {0, -1}}, scores(plan.Bindings))
}

// ScheduleAnyway takes 1000 where it is violated, and nothing is filtered.
func TestScheduleAnyway(t *testing.T) {
	plan := schedule.Schedule(input(pickN(3, spread("zone", 1, api.ScheduleAnyway)),
		member("a", zone("1")), member("b", zone("1")), member("down", zone("2"), func(m *api.Member) { m.Leaving = true }), member("c", zone("1"))))
	require.Equal(t, map[string][2]int32{"c": {0, -1}, "b": {0, -1000}, "a": {0, -1000}}, scores(plan.Bindings))
}

// Spread goes before affinity, always.
func TestSpreadBeatsAffinity(t *testing.T) {
	plan := schedule.Schedule(input(pickN(2, spread("zone", 2, api.DoNotSchedule), prefer(100, labelTerm("good", "yes"))),
		member("a", zone("1"), label("good", "yes")), member("b", zone("1"), label("good", "yes")), member("c", zone("2"))))
	require.Equal(t, map[string][2]int32{"b": {100, -1}, "c": {0, 1}}, scores(plan.Bindings))
}

// A pick more counts what is already there: the current bindings, not those of an older policy.
func TestSpreadCountsCurrentBindings(t *testing.T) {
	members := []api.Member{member("a", zone("1")), member("b", zone("1")), member("c", zone("2")), member("d", zone("2"))}
	in := input(pickN(2, spread("zone", 1, api.DoNotSchedule)), members...)
	in.Existing = []schedule.Existing{{Member: "d", State: api.BindingBound}}
	require.Equal(t, []string{"b", "d"}, names(schedule.Schedule(in).Bindings))
	in.Existing = []schedule.Existing{{Member: "d", State: api.BindingUnscheduled}}
	require.Equal(t, []string{"b", "d"}, names(schedule.Schedule(in).Bindings), "d has the last name, b the empty zone")
}

// A policy change with spread constraints moves nobody who still ranks equal (D2). KubeFleet forgets
// after its first cycle who was in use and ends with b and d.
func TestPolicyChangeKeepsEqualMembers(t *testing.T) {
	members := []api.Member{member("a", zone("1")), member("b", zone("2")), member("c", zone("1")), member("d", zone("2"))}
	in := input(pickN(2, spread("zone", 1, api.DoNotSchedule)), members...)
	in.Existing = []schedule.Existing{
		{Member: "a", Policy: "older", State: api.BindingBound}, {Member: "b", Policy: "older", State: api.BindingBound},
	}
	plan := schedule.Schedule(in)
	require.Equal(t, []string{"a", "b"}, names(plan.Bindings))
	require.Empty(t, plan.Removed)
}

// Over random fleets of equal scores: after a policy change nobody in use has lost the place to
// somebody who was not in use and stands in the same domains with the same score (D2).
func TestNobodyEqualIsMoved(t *testing.T) {
	forSeeds(t, func(t *testing.T, seed uint64) {
		in, _ := randomInput(seed)
		if in.Policy.Type() != api.PickN {
			return
		}
		used := map[string]bool{}
		for i := range in.Existing {
			in.Existing[i].Policy = "older"
			used[in.Existing[i].Member] = in.Existing[i].State != api.BindingUnscheduled
		}
		plan := schedule.Schedule(in)
		for _, moved := range plan.Removed {
			v, judged := plan.Verdicts.Of(moved.Member)
			if !judged || v.Filter != verdict.FilterRank {
				continue
			}
			old, _ := in.Fleet.Member(moved.Member)
			for _, b := range plan.Bindings {
				taker, _ := in.Fleet.Member(b.Member)
				if !used[b.Member] && *b.AffinityScore == *v.AffinityScore && sameDomains(in.Policy, old, taker) {
					t.Fatalf("%s was moved to its equal %s", moved.Member, b.Member)
				}
			}
		}
	})
}

func sameDomains(p *api.Policy, a, b api.Member) bool {
	for _, c := range p.TopologySpreadConstraints {
		one, has := a.Labels[c.TopologyKey]
		other, also := b.Labels[c.TopologyKey]
		if has != also || one != other {
			return false
		}
	}
	return true
}

// As many domains as members: groups are numbered without a table of all pairs.
func TestSpreadOverUniqueLabels(t *testing.T) {
	members := make([]api.Member, 400)
	for i := range members {
		name := fmt.Sprintf("m%03d", i)
		members[i] = member(name, label(api.LabelMemberName, name), label("rack", fmt.Sprint(i%300)))
	}
	p := pickN(300, spread(api.LabelMemberName, 1, api.DoNotSchedule), spread("rack", 1, api.DoNotSchedule))
	plan := schedule.Schedule(input(p, members...))
	require.True(t, plan.Fulfilled)
	racks := map[string]int{}
	for _, b := range plan.Bindings {
		var i int
		_, err := fmt.Sscanf(b.Member, "m%d", &i)
		require.NoError(t, err)
		racks[fmt.Sprint(i%300)]++
	}
	require.Len(t, racks, 300, "every rack has one")
}

// Pairs are numbered in order of first use, in a table where it is small and in a map where it is not.
func TestPairsAreNumbered(t *testing.T) {
	pairs := [][2]uint32{{3, 1}, {0, 0}, {3, 1}, {1, 3}, {0, 0}, {3, 0}}
	want := []int32{0, 1, 0, 2, 1, 3, 4}
	require.Equal(t, want, schedule.Pairs(4, 4, pairs))
	require.Equal(t, want, schedule.Pairs(4, 1<<20, pairs))
}
