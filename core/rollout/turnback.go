package rollout

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// EventRolledBack is the reason of the event that members go back from a snapshot whose checks failed.
const EventRolledBack = "PlacementRolledBack"

// turnBack holds everybody who would be given a snapshot that failed, and takes those back that have it, as many at
// once as may be unavailable. What is to leave members for other reasons leaves as ever.
func (r *rollout) turnBack() {
	r.withhold()
	lim, l := r.limits(), lists{}
	var back []*slot
	for _, s := range r.slots {
		r.count(&l, s)
		switch {
		case s.unscheduled():
			if s.held = r.guarded(s); s.held == "" {
				l.remove = append(l.remove, s)
			}
			s.kept = s.held != ""
		case r.goesBack(s) && s.view.Frozen != "":
			s.held, s.kept = "waits to go back: "+s.view.Frozen, true
		case r.goesBack(s):
			back = append(back, s)
		}
	}
	r.idle = len(l.remove)+len(back) == 0
	r.moveOut(l, l.ready-(lim.target-lim.maxUnavailable))
	r.explain(lim, lists{remove: l.remove})
	r.goBack(back)
	for _, s := range r.slots {
		if s.joining() || s.bound() && r.stale(s) {
			s.held = r.trial.hold
		}
	}
}

// goesBack says that a member is to leave a snapshot that failed.
func (r *rollout) goesBack(s *slot) bool {
	return r.trial.back && s.bound() && s.entry.Snapshot == r.latest.Index && s.entry.Earlier != nil
}

// goBack takes members back: those of whom nothing is heard at once, for they are unavailable already, and of the others
// as many as places are left by members that went back and are not there yet.
func (r *rollout) goBack(back []*slot) {
	most := r.atOnce()
	places, unavailable := most-r.goingBack(), 0
	for _, s := range r.slots {
		if s.bound() && !s.ready {
			unavailable++
		}
	}
	for _, s := range back {
		loses := s.ready && s.entry.Earlier.Snapshot != 0
		switch {
		case s.unknown():
			r.back(s)
		case places <= 0, loses && unavailable >= most:
			s.held = "waits to go back: " + r.trial.hold[len("waits: "):]
		default:
			places--
			if loses {
				unavailable++
			}
			r.back(s)
		}
	}
}

// goingBack counts connected members on their way back.
func (r *rollout) goingBack() int {
	n := 0
	for _, s := range r.slots {
		if e := s.entry; e != nil && e.RolledBack == r.latest.Index && !s.ready && !s.unknown() {
			n++
		}
	}
	return n
}

// back gives a member what it had before the newest snapshot, or withdraws the placement where it had nothing.
func (r *rollout) back(s *slot) {
	from, to := s.entry.Snapshot, s.entry.Earlier
	switch {
	case to.Snapshot == 0:
		s.entry.Withdrawn, s.entry.Generation, s.failed = true, 0, false
		s.entry.Since = metav1.NewTime(r.in.Now).Rfc3339Copy()
	case to.Work == s.entry.Work:
		s.entry.Snapshot, s.entry.Overrides = to.Snapshot, to.Overrides
	default:
		e := newEntry(s.member, string(r.in.Placement.UID))
		e.Snapshot, e.Work, e.Overrides = to.Snapshot, to.Work, to.Overrides
		e.Apply = r.in.Placement.Spec.Strategy.ApplyStrategy
		e.Since = metav1.NewTime(r.in.Now).Rfc3339Copy()
		s.entry, s.failed = e, false
	}
	s.entry.Earlier, s.entry.RolledBack = nil, from
	r.out.Back = append(r.out.Back, s.member)
}

// letBack takes the members back that a staged run lets go back; the others wait.
func (r *rollout) letBack(g *Grants) {
	for _, s := range r.slots {
		if _, may := slices.BinarySearch(g.Back, s.member); may && r.goesBack(s) && s.view.Frozen == "" {
			r.back(s)
		}
		switch {
		case r.goesBack(s) && s.view.Frozen != "":
			s.held, s.kept = "waits to go back: "+s.view.Frozen, true
		case r.goesBack(s):
			s.held = "waits to go back: staged run " + g.Run + " has not come to it"
		case s.unscheduled(), s.joining(), s.bound() && r.stale(s):
			s.held = r.trial.hold
		}
	}
}
