package registrar

import (
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/health"
	"flotilla/core/liveness"
	"flotilla/core/pace"
	"flotilla/subjects"
)

// unreadable is how often people are told that heartbeats of one member cannot be read.
var unreadable = pace.Rate{Burst: 1, Every: 10 * time.Minute}

// known is what this process remembers of a member.
type known struct {
	written   time.Time // its record
	boots     liveness.Boots
	following liveness.Following
	warned    pace.Bucket // that its heartbeats cannot be read
}

// of is what is known of a member; the lock is held.
func (r *Registrar) of(member string) *known {
	k := r.known[member]
	if k == nil {
		k = &known{}
		r.known[member] = k
	}
	return k
}

// recall adds to what is gathered of a member what is remembered of it, and notes which start of its agent the heartbeat is of.
func (r *Registrar) recall(in *liveness.Input) {
	r.mu.Lock()
	k := r.of(in.Name)
	if in.Heartbeat != nil {
		k.boots.Hear(in.Heartbeat, in.Now.Add(-in.Age))
		in.DoubledUntil = k.boots.DoubledUntil(in.Thresholds.Timeout)
	}
	in.Written, in.Following = k.written, k.following
	warn := in.Garbled && unreadable.Take(&k.warned, in.Now)
	r.mu.Unlock()
	if warn {
		r.store.Audit.Record(api.Audit{
			Header: api.NewHeader(api.KindAudit), At: metav1.NewTime(in.Now), Object: subjects.KindMember + "/" + in.Name, Member: in.Name,
			Type: "Warning", Reason: "HeartbeatUnreadable", By: "registrar",
			Message: "its heartbeat cannot be decoded and counts as none; check the version of its agent",
		})
	}
}

// did remembers what was done about a member.
func (r *Registrar) did(member string, plan *liveness.Plan) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := r.of(member)
	k.following = plan.Following
	if plan.Write {
		k.written = r.store.Now()
	}
}

// forget lets go of a member that is gone, but for what it caused of late: it may come back at once. It returns when that can be forgotten
// too, zero when it is.
func (r *Registrar) forget(member string, following liveness.Following, now time.Time) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := r.of(member)
	r.known[member] = &known{following: following, warned: k.warned}
	r.parsed.Drop(member)
	if rests := following.Rests(now); rests.After(now) {
		return rests
	}
	if rests := k.warned.Rests(now); rests.After(now) {
		return rests
	}
	delete(r.known, member)
	return time.Time{}
}

// Problems are the members of which changes are held back, for the screen of the fleet.
func (r *Registrar) Problems() []api.Problem {
	r.mu.Lock()
	defer r.mu.Unlock()
	var problems []api.Problem
	for _, member := range slices.Sorted(maps.Keys(r.known)) {
		if since := r.known[member].following.HeldSince(); !since.IsZero() {
			problems = append(problems, health.HeldBack(member, r.options.Thresholds.HeldBackText(member), since))
		}
	}
	return problems
}
