package rollout

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
)

// BenchmarkNext decides in the middle of an update of 10,000 members.
func BenchmarkNext(b *testing.B) {
	s := newSim(1)
	const n = 10_000
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
	b.ReportAllocs()
	for b.Loop() {
		p := Next(s.in)
		require.NotEmpty(b, p.Advance)
		require.Len(b, p.Hold, n-len(p.Advance))
	}
}
