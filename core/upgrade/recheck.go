package upgrade

import (
	"time"

	"flotilla/core/api"
)

// recheck returns the next instant at which time alone changes something: a wait ends, a scheduled
// start comes, a window opens, a member times out or is Pending for too long, a lock may be released.
func (e *engine) recheck() time.Time {
	a := &alarm{now: e.now}
	e.each(func(m *api.MemberUpdateStatus) {
		if m.Locked && m.Status.State != api.StateRunning {
			a.at(e.lockEnd(m))
		}
	})
	state := e.st.Status.State
	i := e.current()
	if i < 0 || !state.Active() && state != api.StateStopping {
		return a.next
	}
	s := &e.st.Stages[i]
	timeout := api.Span(e.st.Policy.MemberTimeout)
	pending := api.Span(e.st.Policy.PendingTimeout)
	eachMember(s, func(m *api.MemberUpdateStatus) {
		if m.Status.State == api.StateRunning && timeout > 0 {
			a.at(m.Status.StartTime.Add(timeout))
		}
		if m.Status.State == api.StatePending {
			a.at(m.NextEligibleTime.Time)
			if pending > 0 {
				a.at(m.PendingSince.Add(pending))
			}
		}
	})
	if !state.Active() {
		return a.next
	}
	eachGate(s, func(g *api.GateStatus, _ gateScope) {
		if g.Status.State == api.StatePending {
			a.at(g.AbsoluteStartTime.Time)
		}
	})
	if s.Wait != nil && s.Wait.Status.State == api.StateRunning {
		a.at(s.Wait.Deadline.Time)
	}
	return a.next
}

// alarm keeps the earliest of the times after now.
type alarm struct{ now, next time.Time }

func (a *alarm) at(when time.Time) {
	if when.After(a.now) && (a.next.IsZero() || when.Before(a.next)) {
		a.next = when
	}
}
