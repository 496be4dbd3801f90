package schedule_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/schedule"
	"flotilla/core/sim"
	"flotilla/core/verdict"
)

// seeds is how many random fleets each property is tried on.
const seeds = 400

// randomInput makes a fleet, a policy and bindings, some of them of an older policy, some of members
// that are gone.
func randomInput(seed uint64) (schedule.Input, []api.Member) {
	s := sim.NewSource(seed)
	members := sim.Members(s, s.Below(40))
	in := schedule.Input{
		Placement: "web", UID: "u1", Generation: 3, Policy: sim.Policy(s, members), Now: sim.Now,
		Fleet: schedule.NewFleet(members...),
	}
	in.PolicyDigest = schedule.PolicyDigest(in.Policy)
	if s.Chance(3) {
		in.Namespace = "apps"
	}
	if s.Chance(2) {
		in.Existing = randomExisting(s, members, in.PolicyDigest)
	}
	if s.Chance(6) && len(members) > 0 {
		in.Evicted = []string{sim.Pick(s, members...).Name}
	}
	return in, members
}

func randomExisting(s *sim.Source, members []api.Member, digest string) []schedule.Existing {
	var existing []schedule.Existing
	for i := range members {
		if !s.Chance(4) {
			continue
		}
		e := schedule.Existing{
			Member: members[i].Name, Policy: sim.Pick(s, digest, digest, "", "older"),
			State: sim.Pick(s, api.BindingBound, api.BindingBound, api.BindingScheduled, api.BindingUnscheduled),
		}
		if !s.Chance(4) {
			affinity, spread := int32(s.Below(5)-2), int32(s.Below(3)-1)
			e.AffinityScore, e.SpreadScore = &affinity, &spread
		}
		existing = append(existing, e)
	}
	if s.Chance(3) {
		existing = append(existing, schedule.Existing{Member: "vanished", State: api.BindingBound})
	}
	return existing
}

// forSeeds runs a property over random inputs.
func forSeeds(t *testing.T, property func(t *testing.T, seed uint64)) {
	t.Helper()
	for seed := range uint64(seeds) {
		if t.Run(fmt.Sprint(seed), func(t *testing.T) { property(t, seed) }); t.Failed() {
			return
		}
	}
}

func TestAgreesWithTheReference(t *testing.T) {
	forSeeds(t, func(t *testing.T, seed uint64) {
		in, members := randomInput(seed)
		plan := schedule.Schedule(in)
		want := decideByReference(in)
		for _, m := range members {
			v, judged := plan.Verdicts.Of(m.Name)
			require.True(t, judged)
			got := refVerdict{Picked: v.Picked, Keeps: v.Keeps, Filter: v.Filter, Scored: v.AffinityScore != nil}
			if got.Scored {
				got.Affinity, got.Spread = *v.AffinityScore, *v.TopologySpreadScore
			}
			require.Equal(t, *want[m.Name], got, "%s: %s", m.Name, v.Reason)
		}
	})
}

// plainPlan is a plan as bytes: equal decisions are equal bytes.
func plainPlan(t *testing.T, in schedule.Input) string {
	t.Helper()
	plan := schedule.Schedule(in)
	verdicts, err := json.Marshal(&plan.Verdicts)
	require.NoError(t, err)
	record, err := json.Marshal(plan.Schedule(in))
	require.NoError(t, err)
	return fmt.Sprintf("%s\n%s\n%v\n%v", record, verdicts, plan.Removed, plan.Recheck)
}

func TestInputOrderDoesNotMatter(t *testing.T) {
	forSeeds(t, func(t *testing.T, seed uint64) {
		in, members := randomInput(seed)
		want := plainPlan(t, in)
		s := sim.NewSource(seed + 1)
		sim.Shuffle(s, members)
		sim.Shuffle(s, in.Existing)
		in.Fleet = schedule.NewFleet()
		for _, m := range members {
			in.Fleet.Set(sim.Member(s, m.Name))
		}
		for _, m := range members {
			in.Fleet.Set(m)
		}
		require.Equal(t, want, plainPlan(t, in), "a fleet filled in another order, over other values")
	})
}

// Failover changes who holds a PickN, never to fewer members, and no other placement (D24).
func TestFailoverOnlyReplaces(t *testing.T) {
	replaced := 0
	forSeeds(t, func(t *testing.T, seed uint64) {
		in, _ := randomInput(seed)
		without := schedule.Schedule(in)
		bytes := plainPlan(t, in)
		in.FailoverAfter = sim.Pick(sim.NewSource(seed+seeds), time.Nanosecond, time.Minute, 2*time.Hour)
		with := schedule.Schedule(in)
		if in.Policy.Type() == api.PickN {
			require.Len(t, with.Bindings, len(without.Bindings))
			require.Equal(t, without.Fulfilled, with.Fulfilled)
			if len(with.Removed) > len(without.Removed) {
				replaced++
			}
			return
		}
		require.Equal(t, bytes, plainPlan(t, in))
	})
	require.Positive(t, replaced, "no member of any fleet was replaced")
}

// Between a decision and the time it wants to be asked again, time alone changes nothing of who holds
// the placement.
func TestNobodyComesOrGoesBeforeTheRecheck(t *testing.T) {
	turned := 0
	forSeeds(t, func(t *testing.T, seed uint64) {
		in, _ := randomInput(seed)
		in.FailoverAfter = sim.Pick(sim.NewSource(seed+seeds), 0, time.Nanosecond, time.Minute, 2*time.Hour)
		first := schedule.Schedule(in)
		in.Existing = existingOf(&first)
		for range 20 {
			before := schedule.Schedule(in)
			last := before.Recheck.Add(-time.Nanosecond)
			if before.Recheck.IsZero() {
				last = in.Now.Add(1000 * time.Hour)
			}
			in.Now = last
			after := schedule.Schedule(in)
			require.Equal(t, holders(&before), holders(&after), "at %s, one instant before %s", last, before.Recheck)
			if before.Recheck.IsZero() {
				return
			}
			in.Now = before.Recheck
			next := schedule.Schedule(in)
			if fmt.Sprint(holders(&before)) != fmt.Sprint(holders(&next)) {
				turned++
			}
			in.Existing = existingOf(&next)
		}
	})
	require.Positive(t, turned, "time alone changed nothing in any fleet")
}

// holders lists the members of a plan, those that wait with a question mark.
func holders(plan *schedule.Plan) []string {
	var list []string
	for _, b := range plan.Bindings {
		name := b.Member
		if b.Waiting {
			name += "?"
		}
		list = append(list, name)
	}
	return list
}

// existingOf turns a plan into the bindings of the next decision.
func existingOf(plan *schedule.Plan) []schedule.Existing {
	var existing []schedule.Existing
	for _, b := range plan.Bindings {
		existing = append(existing, schedule.Existing{
			Member: b.Member, Policy: b.Policy, State: api.BindingBound,
			AffinityScore: b.AffinityScore, SpreadScore: b.SpreadScore,
		})
	}
	return existing
}

func TestDecidingTwiceChangesNothing(t *testing.T) {
	forSeeds(t, func(t *testing.T, seed uint64) {
		in, _ := randomInput(seed)
		first := schedule.Schedule(in)
		in.Existing = existingOf(&first)
		second := schedule.Schedule(in)
		require.Equal(t, first.Schedule(in), second.Schedule(in))
		require.Empty(t, second.Removed)
		in.Existing = existingOf(&second)
		third := schedule.Schedule(in)
		require.True(t, second.Verdicts.Equal(&third.Verdicts), "verdicts settle")
	})
}

func TestInputsAreNotChanged(t *testing.T) {
	forSeeds(t, func(t *testing.T, seed uint64) {
		in, members := randomInput(seed)
		policy, existing := mustJSON(t, in.Policy), mustJSON(t, in.Existing)
		schedule.Schedule(in)
		require.Equal(t, policy, mustJSON(t, in.Policy))
		require.Equal(t, existing, mustJSON(t, in.Existing))
		for _, m := range members {
			now, _ := in.Fleet.Member(m.Name)
			fresh, _ := schedule.NewFleet(m).Member(m.Name)
			require.Equal(t, fresh, now)
		}
	})
}

func mustJSON(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	require.NoError(t, err)
	return string(text)
}

// Never more than N, never an ineligible new pick, and never fewer than fit.
func TestPickNIsSafe(t *testing.T) {
	forSeeds(t, func(t *testing.T, seed uint64) {
		in, _ := randomInput(seed)
		if in.Policy.Type() != api.PickN {
			return
		}
		plan := schedule.Schedule(in)
		n := int(*in.Policy.NumberOfClusters)
		require.LessOrEqual(t, len(plan.Bindings), n)
		require.Equal(t, len(plan.Bindings) == n, plan.Fulfilled)
		if !plan.Fulfilled {
			require.Zero(t, plan.Verdicts.Tally()[verdict.FilterRank], "somebody who fits was left out")
			require.Len(t, plan.Unpicked, min(n-len(plan.Bindings), in.Fleet.Len()-len(plan.Bindings)))
		}
	})
}

func TestScaleOutTouchesOnlyNewMembers(t *testing.T) {
	forSeeds(t, func(t *testing.T, seed uint64) {
		in, _ := randomInput(seed)
		if in.Policy.Type() != api.PickN {
			return
		}
		before := schedule.Schedule(in)
		in.Existing = existingOf(&before)
		more := *in.Policy.NumberOfClusters + 3
		in.Policy.NumberOfClusters = &more
		after := schedule.Schedule(in)
		require.Empty(t, after.Removed)
		kept := map[string]api.Binding{}
		for _, b := range after.Bindings {
			kept[b.Member] = b
		}
		for _, b := range before.Bindings {
			require.Equal(t, b, kept[b.Member], "a binding that was there has changed")
		}
	})
}

func TestScaleInKeepsTheRest(t *testing.T) {
	forSeeds(t, func(t *testing.T, seed uint64) {
		in, _ := randomInput(seed)
		if in.Policy.Type() != api.PickN || *in.Policy.NumberOfClusters == 0 {
			return
		}
		before := schedule.Schedule(in)
		in.Existing = existingOf(&before)
		fewer := int32(max(0, len(before.Bindings)-2))
		in.Policy.NumberOfClusters = &fewer
		after := schedule.Schedule(in)
		require.Len(t, after.Bindings, int(fewer))
		require.Len(t, after.Removed, len(before.Bindings)-int(fewer))
		require.Subset(t, before.Bindings, after.Bindings)
	})
}

// A leaving member is replaced, and nobody else moves.
func TestLeavingMemberIsReplaced(t *testing.T) {
	replaced := 0
	forSeeds(t, func(t *testing.T, seed uint64) {
		in, _ := randomInput(seed)
		before := schedule.Schedule(in)
		if in.Policy.Type() != api.PickN || len(before.Bindings) == 0 {
			return
		}
		in.Existing = existingOf(&before)
		leaving, _ := in.Fleet.Member(before.Bindings[0].Member)
		leaving.Leaving = true
		in.Fleet.Set(leaving)
		after := schedule.Schedule(in)
		require.Equal(t, []schedule.Removal{{Member: leaving.Name, Reason: "has left the fleet"}}, after.Removed)
		require.Subset(t, after.Bindings, before.Bindings[1:])
		if len(after.Bindings) == len(before.Bindings) {
			replaced++
		}
	})
	require.Greater(t, replaced, seeds/20, "too few fleets had somebody to take over")
}

// A joining member that fits extends a PickAll, and nobody else moves.
func TestJoiningMemberExtendsPickAll(t *testing.T) {
	forSeeds(t, func(t *testing.T, seed uint64) {
		in, _ := randomInput(seed)
		in.Policy = nil
		in.PolicyDigest = schedule.PolicyDigest(nil)
		before := schedule.Schedule(in)
		in.Existing = existingOf(&before)
		in.Fleet.Set(api.Member{Name: "joined", HasAgent: true, Joined: "True", Healthy: "True", LastHeartbeat: in.Now})
		after := schedule.Schedule(in)
		require.Empty(t, after.Removed)
		require.Len(t, after.Bindings, len(before.Bindings)+1)
		require.Subset(t, after.Bindings, before.Bindings)
	})
}

// What members report, and how they do, never takes a workload away.
func TestMemberChangesRemoveNothing(t *testing.T) {
	forSeeds(t, func(t *testing.T, seed uint64) {
		in, members := randomInput(seed)
		before := schedule.Schedule(in)
		in.Existing, in.Evicted = existingOf(&before), before.Schedule(in).Evicted
		in.Now = in.Now.Add(time.Minute)
		s := sim.NewSource(seed + 7)
		for _, m := range members {
			other := sim.Member(s, m.Name)
			other.Leaving = m.Leaving
			in.Fleet.Set(other)
		}
		after := schedule.Schedule(in)
		require.Empty(t, after.Removed)
		require.Subset(t, names(after.Bindings), names(before.Bindings))
	})
}

func names(bindings []api.Binding) []string {
	list := []string{}
	for _, b := range bindings {
		list = append(list, b.Member)
	}
	return list
}

// Content is no part of the input; the digest of the policy alone says whether anybody may move.
func TestGenerationAloneMovesNobody(t *testing.T) {
	forSeeds(t, func(t *testing.T, seed uint64) {
		in, _ := randomInput(seed)
		before := schedule.Schedule(in)
		in.Existing, in.Generation = existingOf(&before), in.Generation+1
		after := schedule.Schedule(in)
		require.Equal(t, before.Bindings, after.Bindings)
		require.Empty(t, after.Removed)
	})
}

func TestVerdictsSurviveTheirRecord(t *testing.T) {
	forSeeds(t, func(t *testing.T, seed uint64) {
		in, _ := randomInput(seed)
		plan := schedule.Schedule(in)
		text := mustJSON(t, &plan.Verdicts)
		var read verdict.Verdicts
		require.NoError(t, json.Unmarshal([]byte(text), &read))
		require.Equal(t, plan.Verdicts.All(), read.All())
		require.True(t, read.Equal(&plan.Verdicts))
		require.Equal(t, text, mustJSON(t, &read))
	})
}

// A plan stays what it was when the fleet moves on.
func TestPlanOutlivesTheFleet(t *testing.T) {
	forSeeds(t, func(t *testing.T, seed uint64) {
		in, members := randomInput(seed)
		plan := schedule.Schedule(in)
		want := plan.Verdicts.All()
		s := sim.NewSource(seed + 9)
		for _, m := range members {
			in.Fleet.Heartbeat(m.Name, in.Now, map[string]string{api.PropertyNodeCount: fmt.Sprint(s.Next())})
		}
		for _, m := range members {
			if s.Chance(2) {
				in.Fleet.Remove(m.Name)
			}
			in.Fleet.Set(sim.Member(s, "a"+m.Name))
		}
		require.Equal(t, want, plan.Verdicts.All())
	})
}
