package rollout

import (
	"slices"

	"flotilla/core/api"
)

// Grants is what a staged run lets a rollout of strategy External do; its snapshot is the Latest of the Input.
type Grants struct {
	// Run is the name of the run.
	Run string
	// Have are the members that may have the snapshot, Leave those that may be told to give the placement up; sorted.
	Have, Leave []string
	// Done are the members that the run gives nothing any more, sorted.
	Done []string
	// Back are those that may go back from it, where its checks failed.
	Back []string
}

// followGrants moves the members that a staged run lets move, and holds the others.
func (r *rollout) followGrants() {
	r.aim()
	r.withhold()
	g := r.in.Grants
	if g == nil {
		r.renumber()
		r.holdMovers("waits for a staged run: spec.strategy.type is " + api.StrategyExternal)
		return
	}
	if r.trial.refused {
		r.letBack(g)
		return
	}
	for _, s := range r.slots {
		_, may := slices.BinarySearch(g.Have, s.member)
		_, leaves := slices.BinarySearch(g.Leave, s.member)
		switch s.held = r.stuck(s); {
		case s.held != "":
		case s.unscheduled() && leaves:
			r.withdraw(s, false)
		case s.unscheduled():
			s.held = "withdrawal waits: staged run " + g.Run + " has not come to it"
		case !s.joining() && (!s.bound() || !r.stale(s)):
		case !may:
			s.held = g.holds(s.member)
		case s.bound() && s.entry.Work == s.want.work:
			s.entry.Earlier = r.remember(s)
			s.entry.Snapshot, s.entry.Overrides = r.latest.Index, s.want.overrides
		default:
			r.advance(s)
		}
	}
}

// holds says why a member that the run does not let have the snapshot waits.
func (g *Grants) holds(member string) string {
	if _, done := slices.BinarySearch(g.Done, member); done {
		return "waits for another staged run: " + g.Run + " is done with it"
	}
	return "waits: staged run " + g.Run + " has not come to it"
}
