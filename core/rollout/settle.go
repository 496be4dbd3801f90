package rollout

import (
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
)

// settle drops what is over: entries of members that left the fleet, and withdrawals that their
// member confirmed.
func (r *rollout) settle() {
	for _, s := range r.slots {
		switch {
		case s.view.Gone:
			if s.entry != nil {
				r.out.Dropped = append(r.out.Dropped, s.member)
			}
			s.entry, s.binding, s.foreign = nil, nil, false
		case s.entry != nil && s.entry.Withdrawn && r.confirmed(s):
			r.out.Confirmed = append(r.out.Confirmed, s.member)
			s.entry, s.foreign = nil, false
		}
	}
}

func (r *rollout) confirmed(s *slot) bool {
	return s.result != nil && confirms(s.result, s.entry)
}

// confirms says that a result tells that what was withdrawn is gone.
func confirms(result *api.PlacementResult, entry *api.ReleaseEntry) bool {
	return result.Withdrawn && result.UID == entry.UID && result.Generation == entry.Generation
}

// ending says that nothing of the placement is to stay.
func (r *rollout) ending() bool {
	p := &r.in.Placement
	return p.UID == "" || p.DeletionTimestamp != nil
}

// withdrawForced withdraws, outside of every budget, what must go: all of a placement that is
// deleted, all on members that leave, what a former placement of the same name left behind, and what was evicted: that
// had its own budget.
func (r *rollout) withdrawForced() {
	for _, s := range r.slots {
		if s.entry == nil || s.entry.Withdrawn {
			continue
		}
		switch {
		case r.ending():
			r.withdraw(s, r.abandons())
		case s.foreign:
			r.withdraw(s, false)
		case s.view.Leaving:
			r.withdraw(s, s.view.WhenLeaving != api.WhenLeavingDelete)
		case s.binding == nil && r.evicted(s.member):
			r.withdraw(s, false)
		}
	}
}

// evicted says that the placement was evicted from a member, or drained from it.
func (r *rollout) evicted(member string) bool {
	if r.schedule == nil {
		return false
	}
	_, evicted := slices.BinarySearch(r.schedule.Evicted, member)
	_, drained := slices.BinarySearch(r.schedule.Drained, member)
	return evicted || drained
}

func (r *rollout) abandons() bool {
	d := r.in.Placement.Spec.Strategy.DeleteStrategy
	return d != nil && d.PropagationPolicy == api.PropagationAbandon
}

func (r *rollout) withdraw(s *slot, abandon bool) {
	s.entry.Earlier = nil
	s.entry.Withdrawn, s.entry.Abandon = true, abandon
	s.entry.Since = metav1.NewTime(r.in.Now).Rfc3339Copy()
	s.entry.Generation, s.failed = 0, false
	r.out.Withdraw = append(r.out.Withdraw, s.member)
}

// followApplyStrategy hands a changed apply strategy to every member at once: it says how to write
// objects, not which. A rollout that is paused waits with that too.
func (r *rollout) followApplyStrategy() {
	if r.paused != "" {
		return
	}
	want := r.in.Placement.Spec.Strategy.ApplyStrategy
	for _, s := range r.slots {
		if s.live() && s.view.Frozen == "" && !reflect.DeepEqual(s.entry.Apply, want) {
			s.entry.Apply = want
			s.entry.Generation, s.verdict = 0, verdict{}
		}
	}
}

// blocked says why nothing can be released, or nothing when it can.
func (r *rollout) blocked() string {
	switch {
	case r.schedule == nil:
		return "waits: the placement has not been scheduled yet"
	case r.latest == nil:
		return "waits: the selected objects have not been recorded yet"
	case r.latest.Error != "":
		return "waits: the resource selectors are invalid: " + r.latest.Error
	}
	return ""
}

// holdMovers holds every member that would have to move.
func (r *rollout) holdMovers(reason string) {
	for _, s := range r.slots {
		switch {
		case r.schedule == nil && s.binding == nil:
		case s.unscheduled(), s.joining(), s.bound() && r.stale(s), r.goesBack(s):
			s.held = reason
		}
	}
}

// stale says that a member holds another snapshot than the newest, or was given it with other overrides of those whose
// changes go out at once; of strategy External a staged run brings all of them.
func (r *rollout) stale(s *slot) bool {
	same := sameAtOnce
	if r.in.Placement.External() {
		same = slices.Equal[[]api.OverrideVersion]
	}
	return r.latest != nil && (s.entry.Snapshot != r.latest.Index || s.want.known && !same(s.entry.Overrides, s.want.overrides))
}

// renumber lets members whose work is that of the newest snapshot already, because content went back to
// what it was or overrides changed nothing for them, count as current: there is nothing for them to do.
func (r *rollout) renumber() {
	for _, s := range r.slots {
		if s.bound() && s.want.known && s.want.why == "" && s.entry.Work == s.want.work && r.stale(s) {
			s.entry.Earlier = r.remember(s)
			s.entry.Snapshot, s.entry.Overrides = r.latest.Index, s.want.overrides
		}
	}
}
