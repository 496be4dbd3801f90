package why_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/schedule"
	"flotilla/core/sim"
	"flotilla/core/verdict"
	"flotilla/core/why"
)

// randomInput makes a fleet with a policy and, half of the time, with the bindings of a decision
// that was made before.
func randomInput(seed uint64) schedule.Input {
	s := sim.NewSource(seed)
	members := sim.Members(s, 2+s.Below(25))
	in := schedule.Input{
		Placement: "web", Policy: sim.Policy(s, members), Now: sim.Now, Fleet: schedule.NewFleet(members...),
	}
	if s.Chance(3) {
		in.Namespace = "apps"
	}
	if s.Chance(2) {
		before := schedule.Schedule(in)
		for _, b := range before.Bindings {
			in.Existing = append(in.Existing, schedule.Existing{
				Member: b.Member, State: api.BindingBound, AffinityScore: b.AffinityScore, SpreadScore: b.SpreadScore,
			})
		}
		if s.Chance(3) {
			evicted := sim.Pick(s, members...).Name
			in.Evicted = []string{evicted}
			if s.Chance(2) { // it gave the placement up
				in.Existing = slices.DeleteFunc(in.Existing, func(e schedule.Existing) bool { return e.Member == evicted })
			}
		}
	}
	return in
}

// Applying the flip that an explanation prints flips the verdict, and leaves the input as it was.
func TestAppliedFlipFlipsTheVerdict(t *testing.T) {
	kinds, answered, unanswered := map[string]int{}, 0, map[string]int{}
	for seed := range uint64(250) {
		in := randomInput(seed)
		before := schedule.Schedule(in)
		for _, name := range append(in.Fleet.Names(), "stranger") {
			a := why.Explain(in, name)
			if a.Flip == nil {
				require.NotEmpty(t, a.NoFlip, "seed %d member %s", seed, name)
				if in.Policy == nil || len(in.Policy.TopologySpreadConstraints) == 0 {
					unanswered[a.Verdict.Filter]++
				}
				continue
			}
			answered++
			kinds[a.Flip.Kind]++
			after := schedule.Schedule(a.Flip.Apply(in))
			verdict, _ := after.Verdicts.Of(name)
			require.NotEqual(t, a.Verdict.Picked, verdict.Picked,
				"seed %d: %s\nafter: %s", seed, a.String(), verdict.Reason)
			if a.Flip.Kind == why.FlipWeight {
				require.Equal(t, weightChange(in.Policy, a.Flip.Apply(in).Policy), a.Flip.Text, "seed %d", seed)
			}
		}
		again := schedule.Schedule(in)
		require.True(t, before.Verdicts.Equal(&again.Verdicts), "seed %d: explaining changed the input", seed)
	}
	t.Logf("%d flips of kinds %v, no flip for filters %v", answered, kinds, unanswered)
	for _, kind := range []string{
		why.FlipLabel, why.FlipTaint, why.FlipProperty, why.FlipHealth, why.FlipNamespace, why.FlipJoin, why.FlipLeave,
		why.FlipScale, why.FlipNames, why.FlipToleration, why.FlipThreshold, why.FlipSkew, why.FlipWeight, why.FlipEvicted,
	} {
		require.NotZero(t, kinds[kind], "no random fleet was flipped by %s", kind)
	}
	require.Zero(t, unanswered[verdict.FilterRank], "without spread constraints numberOfClusters reaches whoever was scored")
}

// weightChange says which preferred term weighs how much more or less.
func weightChange(was, is *api.Policy) string {
	before, after := was.Affinity.ClusterAffinity.Preferred, is.Affinity.ClusterAffinity.Preferred
	for i := range before {
		if before[i].Weight != after[i].Weight {
			return fmt.Sprintf("weight %d instead of %d of preferred term %d", after[i].Weight, before[i].Weight, i+1)
		}
	}
	return ""
}

func TestExplainIsDeterministic(t *testing.T) {
	for seed := range uint64(30) {
		in := randomInput(seed)
		for _, name := range in.Fleet.Names() {
			one, other := why.Explain(in, name), why.Explain(in, name)
			require.Equal(t, one.String(), other.String(), "seed %d", seed)
		}
	}
}

// BenchmarkExplain explains the member that is refused last in a fleet of ten thousand.
func BenchmarkExplain(b *testing.B) {
	s := sim.NewSource(1)
	members := make([]api.Member, 10000)
	for i := range members {
		members[i] = sim.Member(s, fmt.Sprintf("member-%05d", i))
	}
	n := int32(10)
	in := schedule.Input{
		Placement: "web", Now: sim.Now, Fleet: schedule.NewFleet(members...),
		Policy: &api.Policy{PlacementType: api.PickN, NumberOfClusters: &n},
	}
	plan := schedule.Schedule(in)
	last := ""
	for _, v := range plan.Verdicts.All() {
		if v.Filter == verdict.FilterRank {
			last = v.Member
			break
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		a := why.Explain(in, last)
		require.Equal(b, why.FlipScale, a.Flip.Kind)
	}
}
