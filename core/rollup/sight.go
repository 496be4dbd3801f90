package rollup

import (
	"fmt"
	"time"

	"flotilla/core/api"
	"flotilla/core/content"
)

// Reasons of ours why an object is not available everywhere; others are those that members give.
const (
	ReasonNotPlaced = "NotPlaced"
	ReasonFrozen    = "Frozen"

	reasonAvailable   = "Available"
	reasonUnscheduled = "Unscheduled"
	reasonPinned      = "Pinned"
	reasonWaiting     = "RolloutNotStartedYet"
	reasonOverridden  = "OverriddenFailed"
	reasonNoHeartbeat = "NoHeartbeat"
	reasonUnanswered  = "ApplyPending"
	reasonDiffers     = "FoundDifferences"
	reasonNotAllTold  = "NotAllTold"
	reasonDeadline    = "ProgressDeadlineExceeded"
	conditionApplied  = "Applied"
	answeredYes       = "True"
	answeredNo        = "False"
	notReleased       = "what was applied last is not released to it yet"
	notAnswered       = "it has not answered yet"
	noHeartbeat       = "no heartbeat tells how it does"
	placementIsPinned = "the placement was taken back to an earlier snapshot: flotilla rollout restart"
	undecided         = "it is not decided yet on which members it is placed"
)

// stand is how an object does on one member.
type stand int

const (
	lacking stand = iota // it is on its way, not available yet, or nobody knows
	available
	completed // available, and done for good
	failed
)

// sight is what is known of an object on one member.
type sight struct {
	stand           stand
	reason, message string
	// guarded says that a freeze, or a withdrawal that is held, is what it waits for.
	guarded bool
	since   time.Time
}

// identity names an object whatever its version.
type identity struct{ group, kind, namespace, name string }

func identityOf(ref *api.ObjectRef) identity {
	return identity{content.GroupOf(ref.APIVersion), ref.Kind, ref.Namespace, ref.Name}
}

// said is what a result says of the objects of its placement: of those that it names, and of all others.
type said struct {
	rest  sight
	named map[identity]sight
}

// of is what is said of one object.
func (s *said) of(id identity) *sight {
	if one, found := s.named[id]; found {
		return &one
	}
	return &s.rest
}

func (s *said) name(ref *api.ObjectRef, one sight) {
	if s.named == nil {
		s.named = map[identity]sight{}
	}
	if id := identityOf(ref); s.named[id] == (sight{}) {
		s.named[id] = one
	}
}

// read is what a result says; it answers the entry that the member has.
func read(r *api.PlacementResult) said {
	s := said{rest: sight{stand: available, since: r.Changed.Time}}
	switch {
	case r.DiffReported != "":
		s.reported(r)
	case r.Applied != answeredYes && r.Applied != answeredNo:
		s.rest = sight{reason: r.AppliedReason, message: r.AppliedMessage, since: r.Changed.Time}
		return s
	case r.Applied == answeredYes && r.Available != answeredYes && r.Available != answeredNo:
		s.rest = sight{reason: r.AvailableReason, message: r.AvailableMessage, since: r.Changed.Time}
		return s
	}
	s.failures(r)
	for i := range r.Completed {
		s.name(&r.Completed[i], sight{stand: completed, since: r.Changed.Time})
	}
	return s
}

// failures names the objects in trouble. Where the list is cut, any other may be one.
func (s *said) failures(r *api.PlacementResult) {
	for i := range r.Failures {
		f := &r.Failures[i]
		one := sight{reason: f.Reason, message: f.Message, since: r.Changed.Time}
		if f.Condition == conditionApplied {
			one.stand = failed
		}
		s.name(&f.ObjectRef, one)
	}
	if r.Failed > len(r.Failures) {
		s.cut(r, fmt.Sprintf("%d of its %d objects are in trouble, and it names %d", r.Failed, r.Total, len(r.Failures)))
	}
}

// reported names the objects that differ, where nothing is written.
func (s *said) reported(r *api.PlacementResult) {
	for i := range r.Differing {
		d := &r.Differing[i]
		text := "it is not as it is wanted, and left so"
		if len(d.Differences) > 0 {
			text += ": " + d.Differences[0].String()
		}
		s.name(&d.ObjectRef, sight{stand: failed, reason: reasonDiffers, message: text, since: r.Changed.Time})
	}
	if r.DifferingTotal > len(r.Differing) {
		s.cut(r, fmt.Sprintf("%d of its %d objects differ, and it names %d", r.DifferingTotal, r.Total, len(r.Differing)))
	}
}

func (s *said) cut(r *api.PlacementResult, message string) {
	s.rest = sight{reason: reasonNotAllTold, message: message, since: r.Changed.Time}
}
