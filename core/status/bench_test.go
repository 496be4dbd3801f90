package status

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
)

// fleet is a placement in the middle of a rollout to n members: half of them have answered.
func fleet(n int) (in Input, results []*api.PlacementResult) {
	in = Input{Results: map[string]*api.PlacementResult{}, Members: map[string]Member{}, Now: start}
	in.Placement.Name, in.Placement.UID, in.Placement.Generation = "web", "u1", 1
	in.Latest = &api.Snapshot{UID: "u1", Index: 1, Created: metav1.NewTime(start)}
	in.Schedule = &api.Schedule{UID: "u1", Generation: 1, Fulfilled: true}
	in.Release = &api.Release{}
	for i := range n {
		member := fmt.Sprintf("m%05d", i)
		in.Schedule.Bindings = append(in.Schedule.Bindings, api.Binding{Member: member, Reason: "picked"})
		in.Release.Entries = append(in.Release.Entries, api.ReleaseEntry{Member: member, UID: "u1", Snapshot: 1, Generation: 1, Since: metav1.NewTime(start)})
		in.Members[member] = Member{State: api.MemberReady}
		r := &api.PlacementResult{UID: "u1", Generation: 1, Snapshot: 1, Total: 2, Applied: "True", Available: "True", Changed: metav1.NewTime(start)}
		results = append(results, r)
		if i%2 == 0 {
			in.Results[member] = r
		}
	}
	return in, results
}

func foldOf(in Input) *Fold {
	return NewFold(in, func(member string) (*api.PlacementResult, Member) { return in.Results[member], in.Members[member] })
}

func overMembers(b *testing.B, bench func(b *testing.B, n int)) {
	for _, n := range []int{100, 1_000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) { bench(b, n) })
	}
}

// BenchmarkHear takes in one result.
func BenchmarkHear(b *testing.B) {
	overMembers(b, func(b *testing.B, n int) {
		in, results := fleet(n)
		fold := foldOf(in)
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			member := in.Schedule.Bindings[i%n].Member
			fold.Hear(member, results[i%n], in.Members[member])
			if i < n/2 {
				require.False(b, fold.Settled(start))
			}
		}
	})
}

// BenchmarkFollow makes the record of what was heard, once a second at most.
func BenchmarkFollow(b *testing.B) {
	overMembers(b, func(b *testing.B, n int) {
		in, _ := fleet(n)
		fold := foldOf(in)
		b.ReportAllocs()
		for b.Loop() {
			st, _ := fold.Follow(nil, start, start)
			require.Equal(b, n/2, st.Counts.Available)
		}
	})
}

// BenchmarkFold reads all members anew, as at a start or when the schedule or the release changed.
func BenchmarkFold(b *testing.B) {
	overMembers(b, func(b *testing.B, n int) {
		in, _ := fleet(n)
		b.ReportAllocs()
		for b.Loop() {
			require.False(b, foldOf(in).Settled(start))
		}
	})
}

// News of one member costs no allocation a member, and making the record does not either.
func TestNewsOfOneMemberCostsNoLookAtTheOthers(t *testing.T) {
	measure := func(n int) (hear, follow float64) {
		in, results := fleet(n)
		fold := foldOf(in)
		i := 0
		hear = testing.AllocsPerRun(n, func() {
			fold.Hear(in.Schedule.Bindings[i%n].Member, results[i%n], Member{State: api.MemberReady})
			i++
		})
		fold = foldOf(in)
		follow = testing.AllocsPerRun(10, func() { fold.Follow(nil, start, start) })
		return hear, follow
	}
	small, smallFollow := measure(400)
	large, largeFollow := measure(4000)
	require.Zero(t, small)
	require.Zero(t, large)
	require.InDelta(t, smallFollow, largeFollow, 20) // lists grow in steps
}
