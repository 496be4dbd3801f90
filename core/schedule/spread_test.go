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

// A domain that the agent of a member that cannot be picked states on its own holds nobody back (D32). One that people wrote
// does, and one with a member that can be picked or is picked already.
func TestAStatedDomainHoldsNobodyBack(t *testing.T) {
	stated := func(m *api.Member) { m.Agent = api.AgentLabels{Stated: []string{"zone"}} }
	sick := func(m *api.Member) { m.Healthy, m.HealthChanged = "False", sim.Now.Add(-time.Hour) }
	refused := taint(api.Taint{Key: "x", Effect: "NoSchedule"})
	placed := []schedule.Existing{{Member: "mallory", State: api.BindingBound}}
	for what, c := range map[string]struct {
		existing []schedule.Existing
		mallory  []func(*api.Member)
		picked   int
	}{
		"stated, and sick":         {nil, []func(*api.Member){stated, sick}, 6},
		"stated, and tainted":      {nil, []func(*api.Member){stated, refused}, 6},
		"stated, and to be picked": {nil, []func(*api.Member){stated}, 5},
		"stated, and picked":       {placed, []func(*api.Member){stated}, 5},
		"written, and sick":        {nil, []func(*api.Member){sick}, 2},
	} {
		members := []api.Member{member("mallory", append(c.mallory, zone("nowhere"))...)}
		for i := range 6 {
			members = append(members, member(fmt.Sprint("m", i), zone(fmt.Sprint(i%2))))
		}
		in := input(pickN(6, spread("zone", 1, api.DoNotSchedule)), members...)
		in.Existing = c.existing
		require.Len(t, schedule.Schedule(in).Bindings, c.picked, what)
	}
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
