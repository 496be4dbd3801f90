package rollout

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// lists are the members that have to move, each sorted by member, and the counts of the reference.
type lists struct {
	remove []*slot // hold the placement and shall not
	revive []*slot // were told to give it up, have not confirmed it, and shall hold it again
	add    []*slot // shall hold it and do not
	update []*slot // hold an older snapshot
	failed []*slot // hold an older snapshot that could not be applied

	ready      int // members that hold the placement and are ready
	canBeReady int // members that hold it, or give it up right now, and have not failed
	moving     int // connected members on the newest snapshot that are not ready
}

// move decides who moves now, in the reference's order: failed updates without limit, withdrawals,
// updates, additions. Who may have the placement back counts as holding it already.
func (r *rollout) move() {
	r.withhold()
	lim, l := r.limits(), r.sort()
	r.idle = len(l.remove)+len(l.add)+len(l.update) == 0 // the others move now, whatever the numbers are
	for _, s := range slices.Concat(l.failed, l.revive) {
		r.advance(s)
	}
	room := l.ready - (lim.target - lim.maxUnavailable)
	left := r.moveOut(l, room)
	r.moveOn(l, lim, room, left)
	r.moveIn(l, lim.target+lim.maxSurge-l.canBeReady)
	r.explain(lim, l)
	r.closeTrial()
}

func (r *rollout) sort() lists {
	var l lists
	for _, s := range r.slots {
		r.count(&l, s)
		if s.held = r.stuck(s); s.held == "" {
			l.take(s, r.stale)
		}
	}
	return l
}

// stuck says why a bound member may not move whatever the numbers are, or nothing when it may.
func (r *rollout) stuck(s *slot) string {
	guarded := r.guarded(s)
	s.kept = guarded != ""
	switch {
	case s.kept:
		return guarded
	case s.binding == nil:
		return ""
	case s.foreign:
		return "waits: " + s.member + " has not given up the former placement of this name yet"
	case s.view.Leaving:
		return "waits: " + s.member + " is leaving the fleet"
	case s.binding.Waiting && (s.joining() || r.stale(s)):
		return "waits: " + s.binding.Reason
	case s.want.why != "" && (s.joining() || r.stale(s)):
		return s.want.why
	case r.trial.hold != "" && !r.in.Placement.External() && (s.joining() || r.stale(s)):
		return r.trial.hold
	}
	return ""
}

// take puts a member into the list of what it has to do, if anything.
func (l *lists) take(s *slot, stale func(*slot) bool) {
	switch {
	case s.unscheduled():
		l.remove = append(l.remove, s)
	case s.joining() && s.entry != nil:
		l.revive = append(l.revive, s)
	case s.joining():
		l.add = append(l.add, s)
	case s.bound() && stale(s) && s.failed:
		l.failed = append(l.failed, s)
	case s.bound() && stale(s):
		l.update = append(l.update, s)
	}
}

func (r *rollout) count(l *lists, s *slot) {
	if s.ready && s.live() {
		l.ready++
	}
	switch {
	case s.entry == nil, s.foreign, s.failed:
	case s.binding == nil && s.unknown():
		// It gives the placement up before anything else when it comes back.
	default:
		l.canBeReady++
	}
	if s.bound() && !r.stale(s) && !s.ready && !s.unknown() {
		l.moving++
	}
}

// moveOut withdraws up to room ready members. A member that is not ready costs nothing and goes as
// soon as enough others are. It returns how much room is left for updates.
func (r *rollout) moveOut(l lists, room int) int {
	left := room
	for _, s := range l.remove {
		switch {
		case !s.ready && room >= 0:
			r.withdraw(s, false)
		case s.ready && left > 0:
			r.withdraw(s, false)
			left--
		}
	}
	return left
}

// moveOn updates up to left ready members. Members that are not ready take places already and cost
// nothing; those that are connected may move as long as no more than maxUnavailable are in movement,
// the others once enough are ready.
func (r *rollout) moveOn(l lists, lim limits, room, left int) {
	places := lim.maxUnavailable - l.moving
	for _, s := range l.update {
		switch {
		case lim.maxUnavailable == 0:
			return
		case s.unknown():
			if room >= 0 {
				r.advance(s)
			}
		case places > 0 && (!s.ready || left > 0):
			if s.ready {
				left--
			}
			places--
			r.advance(s)
		}
	}
}

// moveIn releases the placement to up to room more members.
func (r *rollout) moveIn(l lists, room int) {
	for i, s := range l.add {
		if i >= room {
			return
		}
		r.advance(s)
	}
}

// advance gives a member the newest snapshot.
func (r *rollout) advance(s *slot) {
	if r.tooSoon(s) {
		return
	}
	e := newEntry(s.member, string(r.in.Placement.UID))
	e.Earlier = r.remember(s)
	e.Snapshot, e.Work, e.Overrides = r.latest.Index, s.want.work, s.want.overrides
	e.Apply = r.in.Placement.Spec.Strategy.ApplyStrategy
	e.Since = metav1.NewTime(r.in.Now).Rfc3339Copy()
	s.entry, s.failed = e, false
	r.out.Advance = append(r.out.Advance, s.member)
}
