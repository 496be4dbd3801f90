package rollout

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
)

// updating is a placement in the middle of an update of n members, with what was decided.
func updating(b *testing.B, n int) (*sim, Plan) {
	s := newSim(1)
	s.in.Schedule = &api.Schedule{UID: "u1"}
	for i := range n {
		s.in.Schedule.Bindings = append(s.in.Schedule.Bindings, api.Binding{Member: fmt.Sprintf("m%05d", i)})
	}
	first := Next(s.in)
	require.Len(b, first.Advance, n)
	s.in.Release = &first.Release
	for _, e := range first.Release.Entries {
		s.in.Results[e.Member] = resultOf(e, "available", start)
	}
	s.publish("")
	return s, Next(s.in)
}

func overMembers(b *testing.B, bench func(b *testing.B, n int)) {
	for _, n := range []int{100, 1_000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) { bench(b, n) })
	}
}

// BenchmarkNext decides in the middle of an update.
func BenchmarkNext(b *testing.B) {
	overMembers(b, func(b *testing.B, n int) {
		s, _ := updating(b, n)
		b.ReportAllocs()
		for b.Loop() {
			p := Next(s.in)
			require.NotEmpty(b, p.Advance)
			require.Len(b, p.Hold, n-len(p.Advance))
		}
	})
}

// BenchmarkStirs takes in a result that others do not wait for.
func BenchmarkStirs(b *testing.B) {
	overMembers(b, func(b *testing.B, n int) {
		s, plan := updating(b, n)
		s.in.Release = &plan.Release
		_, standing := Decide(s.in, s.in.known)
		results := make([]*api.PlacementResult, n)
		for i, e := range plan.Release.Entries {
			results[i] = resultOf(e, "applying", start)
			if e.Snapshot == 1 {
				results[i] = s.in.Results[e.Member]
			}
		}
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			require.False(b, standing.Stirs(plan.Release.Entries[i%n].Member, results[i%n], start))
		}
	})
}

// A decision allocates no more for many members than for few, but for what it writes.
func TestADecisionAllocatesNothingAMember(t *testing.T) {
	measure := func(n int) float64 {
		s := newSim(1)
		s.in.Schedule = &api.Schedule{UID: "u1"}
		for i := range n {
			s.in.Schedule.Bindings = append(s.in.Schedule.Bindings, api.Binding{Member: fmt.Sprintf("m%05d", i)})
		}
		first := Next(s.in)
		s.in.Release = &first.Release
		return testing.AllocsPerRun(10, func() { Decide(s.in, s.in.known) })
	}
	require.InDelta(t, measure(400), measure(4000), 10)
}
