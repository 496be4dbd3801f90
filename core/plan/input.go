package plan

import (
	"time"

	"flotilla/core/api"
	"flotilla/core/schedule"
)

// Input is what the scheduler would be asked for this placement.
func (s *Subject) Input(fleet *schedule.Fleet, now time.Time, t schedule.Thresholds) schedule.Input {
	p := &s.Placement
	in := schedule.Input{
		Placement:    p.Key(),
		UID:          string(p.UID),
		Generation:   p.Generation,
		Namespace:    p.Namespace,
		Policy:       p.Spec.Policy,
		PolicyDigest: schedule.PolicyDigest(p.Spec.Policy),
		Fleet:        fleet,
		Existing:     s.Existing,
		Evicted:      s.Evicted,
		Drained:      s.Drained,
		AllowEvicted: p.Annotations[api.AnnotationAllowEvicted] == "true",
		Deleting:     p.DeletionTimestamp != nil,
		Now:          now,
		Thresholds:   t,
	}
	if d, err := time.ParseDuration(p.Annotations[api.AnnotationFailoverAfter]); err == nil {
		in.FailoverAfter = d
	}
	return in
}

// Existing reads bindings from a placement's records. A binding is Bound once its member was released
// to, a release without a binding is a withdrawal that nobody confirmed yet. Without a schedule there
// are none; without a release all bindings are Bound. Uid is that of the placement.
func Existing(s *api.Schedule, r *api.Release, uid string) []schedule.Existing {
	if s == nil {
		return nil
	}
	released := map[string]bool{}
	if r != nil {
		for i := range r.Entries {
			if e := &r.Entries[i]; uid == "" || e.UID == uid {
				released[e.Member] = true
			}
		}
	}
	var found []schedule.Existing
	for i := range s.Bindings {
		b := &s.Bindings[i]
		state := api.BindingBound
		if r != nil && !released[b.Member] {
			state = api.BindingScheduled
		}
		delete(released, b.Member)
		found = append(found, schedule.Existing{
			Member: b.Member, Policy: b.Policy, State: state, AffinityScore: b.AffinityScore, SpreadScore: b.SpreadScore,
		})
	}
	if r != nil {
		for i := range r.Entries {
			if m := r.Entries[i].Member; released[m] {
				found = append(found, schedule.Existing{Member: m, State: api.BindingUnscheduled})
			}
		}
	}
	return found
}
