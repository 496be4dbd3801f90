package stage

import (
	"time"

	"flotilla/core/api"
)

// recheck returns the next instant at which time alone changes something: a wait ends, a scheduled
// start comes, a window opens, a member times out or is Pending for too long, a lock may be released.
func (r *Run) recheck() time.Time {
	a := &Alarm{Now: r.Now}
	r.Each(func(m *api.MemberUpdateStatus) {
		if m.Locked && m.Status.State != api.StateRunning {
			a.At(r.work.LockEnd(m))
		}
	})
	state := r.Status.Status.State
	i := r.current()
	if i < 0 || !state.Active() && state != api.StateStopping {
		return a.Next
	}
	s := &r.Status.Stages[i]
	timeout := api.Span(r.Status.Policy.MemberTimeout)
	pending := api.Span(r.Status.Policy.PendingTimeout)
	EachMember(s, func(m *api.MemberUpdateStatus) {
		if m.Status.State == api.StateRunning && timeout > 0 {
			a.At(m.Status.StartTime.Add(timeout))
		}
		if m.Status.State == api.StatePending {
			a.At(m.NextEligibleTime.Time)
			if pending > 0 {
				a.At(m.PendingSince.Add(pending))
			}
		}
	})
	if !state.Active() {
		return a.Next
	}
	EachGate(s, func(g *api.GateStatus, _ GateScope) {
		if g.Status.State == api.StatePending {
			a.At(g.AbsoluteStartTime.Time)
		}
	})
	if s.Wait != nil && s.Wait.Status.State == api.StateRunning {
		a.At(s.Wait.Deadline.Time)
	}
	return a.Next
}

// Alarm keeps the earliest of the times after Now; zero: none.
type Alarm struct{ Now, Next time.Time }

// At is a time at which something happens; zero: never.
func (a *Alarm) At(when time.Time) {
	if when.After(a.Now) && (a.Next.IsZero() || when.Before(a.Next)) {
		a.Next = when
	}
}
