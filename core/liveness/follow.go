package liveness

import (
	"fmt"
	"time"

	"flotilla/core/api"
	"flotilla/core/pace"
)

// Reasons of events about changes that a member causes faster than they are followed.
const (
	ReasonHeldBack      = "HeldBack"
	ReasonFollowedAgain = "FollowedAgain"
)

// Following is what a hub remembers of how it follows the heartbeats of a member (H32). The zero value is that of a hub that begins.
type Following struct {
	changes pace.Bucket
	// heartbeat is the one that the record goes by, nil when there is none or it cannot be read, and doubledUntil what it said of two agents.
	heartbeat    *api.Heartbeat
	doubledUntil time.Time
	heldSince    time.Time
}

// HeldSince is since when people are told that changes of the member are held back, zero while they are not.
func (f *Following) HeldSince() time.Time { return f.heldSince }

// Rests is from when on there is nothing to remember of a member that is gone, now at the earliest.
func (f *Following) Rests(now time.Time) time.Time { return f.changes.Rests(now) }

// follow is the plan by the newest heartbeat. Where that would be a change too many which the member causes by itself, it is the plan by the
// heartbeat that is followed, to be looked at again when the newest may be.
func (in *Input) follow(f *Following) (p Plan, held bool) {
	p = in.plan()
	if in.heard() && p.Write {
		followed := *in
		followed.Heartbeat, followed.DoubledUntil = f.heartbeat, f.doubledUntil
		before := followed.plan()
		apart := compare(&before.Record, &p.Record) == differs // what moves all the time has a pace of its own
		if apart && !in.dismissed(&before) && !in.Thresholds.Changes.Take(&f.changes, in.Now) {
			if before.Remove {
				before = Plan{} // it would remove the newest heartbeat
			}
			before.Recheck = earlier(before.Recheck, in.Thresholds.Changes.Next(&f.changes, in.Now))
			return before, true
		}
	}
	f.heartbeat, f.doubledUntil = in.Heartbeat, in.DoubledUntil
	return p, false
}

// dismissed says that a member would be removed because people took it away, while its agent speaks still.
func (in *Input) dismissed(before *Plan) bool {
	return before.Remove && in.Previous != nil && in.Previous.UID != ""
}

// heard says that there is a heartbeat, readable or not. That there is none is no doing of the member.
func (in *Input) heard() bool { return in.Heartbeat != nil || in.Garbled }

// tell returns the event that changes of a member are held back, and the one that this is over: when as many may be followed at once as
// ever, so that neither comes often. Of a member that is gone nothing is told any more.
func (in *Input) tell(f *Following, held, gone bool) []api.Audit {
	switch {
	case held && f.heldSince.IsZero():
		f.heldSince = in.Now
		return []api.Audit{in.audit("Warning", ReasonHeldBack, in.Thresholds.HeldBackText(in.Name))}
	case !f.heldSince.IsZero() && f.changes.Full(in.Now):
		f.heldSince = time.Time{}
		if !gone {
			return []api.Audit{in.audit("Normal", ReasonFollowedAgain, "what its agent changes is followed at once again")}
		}
	}
	return nil
}

// HeldBackText says that changes of a member are held back, and what to do.
func (t Thresholds) HeldBackText(name string) string {
	return fmt.Sprintf("what its agent says changes more often than it is followed, which is %d times at once and then the newest each %s: look at the log "+
		"of the agent; where it does what it should not, flotilla member revoke %s refuses it", t.Changes.Burst, t.Changes.Every, name)
}
