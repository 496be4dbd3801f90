package whatif

import (
	"maps"
	"slices"

	"flotilla/core/api"
	"flotilla/core/plan"
	"flotilla/core/schedule"
)

// rounds bounds how often a placement is decided on one fleet. A decision that is made again changes nothing but where
// members that gave a placement up may be picked again.
const rounds = 8

// standing is a placement that is decided on a fleet, until another decision changes nothing.
type standing struct {
	in      schedule.Input
	decided schedule.Plan
	// reasons say why members were left, by name, over all that was decided.
	reasons map[string]string
}

// settled follows a placement on a fleet.
func (b *builder) settled(s *plan.Subject, fleet *schedule.Fleet) *standing {
	at := &standing{in: s.Input(fleet, b.in.Now, b.in.Thresholds)}
	at.settle()
	return at
}

// on follows it on another fleet, from where it stands.
func (s *standing) on(fleet *schedule.Fleet) *standing {
	next := &standing{in: s.in, reasons: maps.Clone(s.reasons)}
	next.in.Fleet = fleet
	next.settle()
	return next
}

// as follows another version of the placement from where it stands.
func (s *standing) as(b *builder, of *plan.Subject) *standing {
	next := &standing{in: of.Input(s.in.Fleet, b.in.Now, b.in.Thresholds), reasons: maps.Clone(s.reasons)}
	next.in.Existing, next.in.Drained = s.in.Existing, s.in.Drained
	if next.in.PolicyDigest == s.in.PolicyDigest {
		next.in.Evicted = s.in.Evicted
	}
	next.settle()
	return next
}

// settle decides until nothing changes; what a decision takes away is confirmed at once.
func (s *standing) settle() {
	for range rounds {
		s.decided = schedule.Schedule(s.in)
		s.note(s.decided.Removed)
		existing := bound(s.decided.Bindings)
		evicted := s.evictedStill()
		same := slices.EqualFunc(existing, s.in.Existing, func(a, b schedule.Existing) bool { return a.Member == b.Member && a.Policy == b.Policy })
		s.in.Existing, s.in.Evicted = existing, evicted
		if same {
			return
		}
	}
}

func (s *standing) note(removed []schedule.Removal) {
	for _, r := range removed {
		if s.reasons == nil {
			s.reasons = map[string]string{}
		}
		s.reasons[r.Member] = r.Reason
	}
}

// bound are bindings as they stand once they are released.
func bound(bindings []api.Binding) []schedule.Existing {
	existing := make([]schedule.Existing, len(bindings))
	for i := range bindings {
		b := &bindings[i]
		existing[i] = schedule.Existing{
			Member: b.Member, Policy: b.Policy, State: api.BindingBound, AffinityScore: b.AffinityScore, SpreadScore: b.SpreadScore,
		}
	}
	return existing
}

// evictedStill are the evicted members that were not picked again.
func (s *standing) evictedStill() []string {
	if len(s.in.Evicted) == 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(s.in.Evicted), func(name string) bool { return s.binding(name) != nil })
}

// binding is the one to a member, nil when there is none.
func (s *standing) binding(member string) *api.Binding {
	at, found := slices.BinarySearchFunc(s.decided.Bindings, member, func(b api.Binding, name string) int {
		switch {
		case b.Member < name:
			return -1
		case b.Member > name:
			return 1
		}
		return 0
	})
	if !found {
		return nil
	}
	return &s.decided.Bindings[at]
}

// picked counts members that are picked, and not only kept.
func (s *standing) picked() int {
	n := 0
	for i := range s.decided.Bindings {
		if !s.decided.Bindings[i].Waiting {
			n++
		}
	}
	return n
}

// wanted is how many members are asked for, nil for a PickAll.
func (s *standing) wanted() *int32 { return s.decided.Verdicts.Want }

// unfilled is how many of them are not found.
func (s *standing) unfilled() int {
	if want := s.wanted(); want != nil {
		return max(0, int(*want)-s.picked())
	}
	return 0
}
