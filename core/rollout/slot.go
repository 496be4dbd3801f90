package rollout

import (
	"maps"
	"slices"
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
	binding *api.Binding
	entry   *api.ReleaseEntry // a copy that may be changed; nil when nothing is released
	foreign bool              // the entry is of a former placement of this name
	ready   bool
	failed  bool
	readyAt time.Time // when time alone makes the member ready
	held    string
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
	step     int64 // of the release as it stands
	out      Plan
}

func newRollout(in Input) *rollout {
	r := &rollout{in: in}
	uid := string(in.Placement.UID)
	if in.Schedule != nil && in.Schedule.UID == uid {
		r.schedule = in.Schedule
	}
	if in.Latest != nil && in.Latest.UID == uid {
		r.latest = in.Latest
	}
	byMember := map[string]*slot{}
	at := func(member string) *slot {
		s := byMember[member]
		if s == nil {
			s = &slot{member: member, view: in.Members[member]}
			byMember[member] = s
		}
		return s
	}
	if r.schedule != nil {
		for i := range r.schedule.Bindings {
			at(r.schedule.Bindings[i].Member).binding = &r.schedule.Bindings[i]
		}
	}
	if in.Release != nil {
		r.step = in.Release.Step
		for _, e := range in.Release.Entries {
			s := at(e.Member)
			s.entry, s.foreign = &e, e.UID != uid
			r.step = max(r.step, e.Generation)
		}
	}
	for _, member := range slices.Sorted(maps.Keys(byMember)) {
		r.slots = append(r.slots, byMember[member])
	}
	r.judge(uid)
	return r
}

// judge reads from the results which members are ready and which have failed.
func (r *rollout) judge(uid string) {
	period := UnavailablePeriod(r.in.Placement.Spec.Strategy.RollingUpdate)
	for _, s := range r.slots {
		result := r.in.Results[s.member]
		if result == nil || result.UID != uid {
			continue
		}
		r.heal(s, result)
		if !s.live() || result.Generation != s.entry.Generation {
			continue
		}
		s.failed = applyFailed(result)
		if !s.unknown() {
			s.ready, s.readyAt = Available(result, s.entry.Since.Time, period, r.in.Now)
		}
	}
}

// heal keeps generations from decreasing when a release, or its last writes, got lost: an agent that
// is ahead of its entry is told again, with a generation beyond the one it knows.
func (r *rollout) heal(s *slot, result *api.PlacementResult) {
	if result.Generation-r.step > maxJump {
		return
	}
	r.step = max(r.step, result.Generation)
	if s.entry != nil && !s.foreign && result.Generation > s.entry.Generation {
		s.entry.Generation = 0
	}
}
