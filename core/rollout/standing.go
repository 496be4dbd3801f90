package rollout

import (
	"slices"
	"strings"
	"time"

	"flotilla/core/api"
)

// Standing is how a placement stands after a decision that changed nothing. It tells which answers of members could
// make it decide otherwise; what else changes, time alone included, is for another decision.
type Standing struct {
	uid     string
	step    int64
	period  time.Duration
	idle    bool
	members []stance // sorted
}

// stance is what a decision went by on one member.
type stance struct {
	member  string
	entry   *api.ReleaseEntry // nil when nothing is released
	live    bool
	unknown bool
	verdict
}

// Decide is Next, of what known says of each member that the schedule or the release names: Results and Members of
// the input are not read. The Standing is nil where the plan changes the release, which is then to be decided on
// again.
func Decide(in Input, known Source) (Plan, *Standing) {
	r := decide(in, known)
	p := r.plan()
	if p.Changed {
		return p, nil
	}
	return p, r.standing()
}

func (r *rollout) standing() *Standing {
	out := &Standing{
		uid: string(r.in.Placement.UID), step: r.step, idle: r.idle, members: make([]stance, len(r.slots)),
		period: UnavailablePeriod(r.in.Placement.Spec.Strategy.RollingUpdate),
	}
	for i, s := range r.slots {
		out.members[i] = stance{member: s.member, entry: s.record, live: s.live(), unknown: s.unknown(), verdict: s.verdict}
	}
	return out
}

// Stirs says that the newest result of a member, nil when it is gone, may change the decision.
func (s *Standing) Stirs(member string, result *api.PlacementResult, now time.Time) bool {
	i, found := slices.BinarySearchFunc(s.members, member, func(m stance, name string) int { return strings.Compare(m.member, name) })
	if !found {
		return false
	}
	m := &s.members[i]
	if result != nil && m.entry != nil && m.entry.Withdrawn && confirms(result, m.entry) {
		return true
	}
	var v verdict
	if result != nil && result.UID == s.uid {
		if s.heals(m, result) {
			return true
		}
		if m.live {
			v = verdictOf(result, m.entry, m.unknown, s.period, now)
		}
	}
	return !s.idle && v != m.verdict
}

// heals says that an agent is ahead of what is released to it, by what it may be.
func (s *Standing) heals(m *stance, result *api.PlacementResult) bool {
	if result.Generation-s.step > maxJump {
		return false
	}
	return result.Generation > s.step || m.entry != nil && m.entry.UID == s.uid && result.Generation > m.entry.Generation
}
