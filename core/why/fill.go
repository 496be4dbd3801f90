package why

import (
	"flotilla/core/api"
	"flotilla/core/schedule"
)

// Filled is a change by which a placement has a member more.
type Filled struct {
	Member string
	Flip   *Flip
}

// Fill is the smallest single change by which one of members, that the placement wants and does not have, is picked, and more
// are than without the change; the first of several that are as small. It is nil when none that was tried does that.
func Fill(in schedule.Input, members []string) *Filled {
	plan := schedule.Schedule(in)
	var best *Filled
	least := 0
	for _, name := range members {
		v, judged := plan.Verdicts.Of(name)
		if !judged || v.Picked {
			continue
		}
		s := newSearch(in, name, v)
		s.filling = true
		flip, cost := s.smallest()
		if flip == nil || best != nil && cost >= least || !more(flip.Apply(s.in), &plan) {
			continue
		}
		best, least = &Filled{name, flip}, cost
	}
	return best
}

// more says that more members are picked of an input than in a plan.
func more(in schedule.Input, than *schedule.Plan) bool {
	return picked(schedule.Schedule(in).Bindings) > picked(than.Bindings)
}

func picked(bindings []api.Binding) int {
	n := 0
	for i := range bindings {
		if !bindings[i].Waiting {
			n++
		}
	}
	return n
}
