package rollout

import (
	"slices"
	"strings"
	"time"

	"flotilla/core/api"
)

// maxJump bounds how far a result may push the step of a release ahead, so that an agent that
// reports nonsense cannot exhaust the numbers.
const maxJump = 1 << 32

// slot is one member's place in a rollout: what the scheduler wants there, what is released there,
// and what the member says about it.
type slot struct {
	member  string
	view    MemberView
	result  *api.PlacementResult // the newest
	binding *api.Binding
	record  *api.ReleaseEntry // as it stands
	entry   *api.ReleaseEntry // a copy that may be changed; nil when nothing is released
	foreign bool              // the entry is of a former placement of this name
	verdict
	held string
	kept bool // a guard is why it is held
	// loss is what it would lose, zero for nothing that guards look at; withheld is why it does not.
	loss     api.Loss
	withheld string
	want     wanted
}

// verdict is what the answer of a member comes to.
type verdict struct {
	ready   bool
	failed  bool
	readyAt time.Time // when time alone makes the member ready
}

// live says that the member is to hold this placement as of now.
func (s *slot) live() bool { return s.entry != nil && !s.entry.Withdrawn && !s.foreign }

// bound says that the member holds the placement and shall go on doing so.
func (s *slot) bound() bool { return s.live() && s.binding != nil }

// unscheduled says that the member holds the placement and shall give it up.
func (s *slot) unscheduled() bool { return s.live() && s.binding == nil }

// joining says that the member shall get the placement, or get it back before it gave it up.
func (s *slot) joining() bool {
	if s.binding == nil || s.foreign {
		return false
	}
	return s.entry == nil || s.entry.Withdrawn
}

func (s *slot) unknown() bool { return s.view.State == api.MemberUnknown }

// rollout is one decision in the making.
type rollout struct {
	in       Input
	slots    []*slot // sorted by member
	schedule *api.Schedule
	latest   *api.Snapshot
	rendered *api.Rendered // of latest and its overrides, nil where there are none or it is not known
	step     int64         // of the release as it stands
	idle     bool          // nobody has to move: whether members are ready changes nothing
	paused   string        // who paused the rollout, or froze placements, empty when nobody did
	trial    trial
	losses   losses
	out      Plan
}

func newRollout(in Input, known Source) *rollout {
	r := &rollout{in: in}
	if pause := api.PauseOf(in.Placement.Annotations); pause != nil {
		r.paused = "waits: " + pause.String()
	}
	if in.Frozen != "" {
		r.paused = "waits: " + in.Frozen
	}
	uid := string(in.Placement.UID)
	if in.Schedule != nil && in.Schedule.UID == uid {
		r.schedule = in.Schedule
	}
	if in.Latest != nil && in.Latest.UID == uid {
		r.latest = in.Latest
	}
	r.lay(uid)
	for _, s := range r.slots {
		s.result, s.view = known(s.member)
	}
	r.judge(uid)
	return r
}

// lay makes the slots of all members that a binding or an entry names, sorted by member.
func (r *rollout) lay(uid string) {
	var bindings []api.Binding
	var entries []api.ReleaseEntry
	if r.schedule != nil {
		bindings = sorted(r.schedule.Bindings, func(b *api.Binding) string { return b.Member })
	}
	if r.in.Release != nil {
		r.step, entries = r.in.Release.Step, sorted(r.in.Release.Entries, func(e *api.ReleaseEntry) string { return e.Member })
	}
	slots, copies := make([]slot, 0, len(bindings)+len(entries)), slices.Clone(entries)
	for i, j := 0, 0; i < len(bindings) || j < len(entries); {
		var s slot
		if j == len(entries) || i < len(bindings) && bindings[i].Member < entries[j].Member {
			s.member = bindings[i].Member
		} else {
			s.member = entries[j].Member
		}
		for ; i < len(bindings) && bindings[i].Member == s.member; i++ {
			s.binding = &bindings[i]
		}
		for ; j < len(entries) && entries[j].Member == s.member; j++ {
			s.record, s.entry, s.foreign = &entries[j], &copies[j], entries[j].UID != uid
			r.step = max(r.step, entries[j].Generation)
		}
		slots = append(slots, s)
	}
	r.slots = make([]*slot, len(slots))
	for i := range slots {
		r.slots[i] = &slots[i]
	}
}

// sorted is a list by member, as records hold them.
func sorted[T any](list []T, member func(*T) string) []T {
	for i := 1; i < len(list); i++ {
		if member(&list[i]) < member(&list[i-1]) {
			list = slices.Clone(list)
			slices.SortStableFunc(list, func(a, b T) int { return strings.Compare(member(&a), member(&b)) })
			break
		}
	}
	return list
}

// judge reads from the results which members are ready and which have failed.
func (r *rollout) judge(uid string) {
	period := UnavailablePeriod(r.in.Placement.Spec.Strategy.RollingUpdate)
	for _, s := range r.slots {
		if s.result == nil || s.result.UID != uid {
			continue
		}
		r.heal(s)
		if s.live() {
			s.verdict = verdictOf(s.result, s.entry, s.unknown(), period, r.in.Now)
		}
	}
}

// verdictOf is what a result comes to, where it answers what is released.
func verdictOf(result *api.PlacementResult, entry *api.ReleaseEntry, unknown bool, period time.Duration, now time.Time) (v verdict) {
	if result.Generation != entry.Generation {
		return v
	}
	v.failed = applyFailed(result)
	if !unknown {
		v.ready, v.readyAt = Available(result, entry.Since.Time, period, now)
	}
	return v
}

// heal keeps generations from decreasing when a release, or its last writes, got lost: an agent that
// is ahead of its entry is told again, with a generation beyond the one it knows.
func (r *rollout) heal(s *slot) {
	if s.result.Generation-r.step > maxJump {
		return
	}
	r.step = max(r.step, s.result.Generation)
	if s.entry != nil && !s.foreign && s.result.Generation > s.entry.Generation {
		s.entry.Generation = 0
	}
}
