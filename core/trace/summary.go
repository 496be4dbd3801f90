package trace

import (
	"cmp"
	"slices"

	"flotilla/core/api"
)

// took is what a hop took on one member.
type took struct {
	member string
	ms     int64
}

// summed are the hops over members, in order, and "total" of those that are at the end.
func summed(members []api.TracedMember) []api.HopSummary {
	all := map[string][]took{}
	for i := range members {
		m := &members[i]
		begun := false
		for k := range m.Hops {
			if h := &m.Hops[k]; h.State == api.HopDone {
				if begun {
					all[h.Hop] = append(all[h.Hop], took{m.Member, h.TookMs})
				}
				begun = true
			}
		}
		if m.Done && begun {
			all[Total] = append(all[Total], took{m.Member, m.TookMs})
		}
	}
	out := []api.HopSummary{}
	for _, hop := range append(api.Hops(), Total) {
		if times := all[hop]; len(times) > 0 {
			out = append(out, summary(hop, times))
		}
	}
	return out
}

// Total is all hops of a member, in a summary.
const Total = "total"

// summary has of so many times the one that half, or nine in ten, are not above.
func summary(hop string, times []took) api.HopSummary {
	slices.SortFunc(times, func(a, b took) int { return cmp.Or(cmp.Compare(a.ms, b.ms), cmp.Compare(b.member, a.member)) })
	rank := func(percent int) int64 { return times[(len(times)*percent+99)/100-1].ms }
	last := times[len(times)-1]
	return api.HopSummary{Hop: hop, Members: len(times), P50Ms: rank(50), P90Ms: rank(90), MaxMs: last.ms, Slowest: last.member}
}
