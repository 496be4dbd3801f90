package status

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
)

// steps counts what is left to do: two steps for a member that is to get the newest snapshot, one for
// a member that has it and is not available on it; two for one that is to give the placement up, one
// while that is not confirmed.
func (e *evaluation) steps() (picked, all int) {
	picked = e.tally[stepsLeft]
	if e.in.Release == nil {
		return picked, picked
	}
	unscheduled := len(e.in.Release.Entries) - len(e.leavers) - e.tally[isBound]
	return picked, picked + len(e.leavers) + 2*unscheduled
}

// mark compares what is left with what was left before: the rollout advanced when it is less than ever,
// so that a member that comes and goes is no progress.
func (e *evaluation) mark() *api.RolloutMark {
	if !e.rollsOut() {
		return nil
	}
	picked, left := e.steps()
	m := api.RolloutMark{Snapshot: e.latest.Index, Picked: e.pickedDigest(), Left: left, Since: e.begun()}
	before := e.marked()
	switch {
	case before == nil:
	case before.Snapshot != m.Snapshot:
		m.Since = e.seconds(e.latest.Created.Time)
	case before.Completed > 0 && e.stillComplete(before.Completed):
		return before
	case before.Completed > 0 || left < before.Left && before.Picked == m.Picked:
		m.Since = e.seconds(e.in.Now)
	case before.Picked == m.Picked:
		m.Left, m.Since = before.Left, before.Since
	default:
		m.Since = before.Since
	}
	if before != nil && e.letGo() {
		m.Since = e.seconds(e.in.Now) // it was nobody's fault that none advanced
	}
	if picked == 0 {
		m.Completed = e.highest()
		if before != nil && before.Snapshot == m.Snapshot {
			m.Since = e.seconds(e.in.Now)
		}
	}
	return &m
}

// rollsOut says that there is a snapshot that members are to run. What staged runs bring is told by them.
func (e *evaluation) rollsOut() bool {
	if e.external() || e.schedule == nil || e.latest == nil || e.latest.Error != "" || e.in.Placement.DeletionTimestamp != nil {
		return false
	}
	return e.tally[isPicked] > 0
}

func (e *evaluation) marked() *api.RolloutMark {
	if e.previous == nil {
		return nil
	}
	return e.previous.Mark
}

// begun is when the rollout last moved as far as records other than the last status tell.
func (e *evaluation) begun() metav1.Time {
	last := e.latest.Created.Time
	for i := range e.views {
		if en := e.views[i].entry; en != nil && en.Since.After(last) {
			last = en.Since.Time
		}
	}
	return e.seconds(last)
}

// seconds is a time as records hold it, now for one that is not known or still to come.
func (e *evaluation) seconds(t time.Time) metav1.Time {
	if t.IsZero() || t.After(e.in.Now) {
		t = e.in.Now
	}
	return metav1.NewTime(t).Rfc3339Copy()
}

// pickedDigest is FNV-1a of the names of the picked members, one a line.
func (e *evaluation) pickedDigest() string {
	h := uint64(14695981039346656037)
	add := func(b byte) { h = (h ^ uint64(b)) * 1099511628211 }
	for i := range e.views {
		if v := &e.views[i]; !v.binding.Waiting {
			for at := range len(v.member) {
				add(v.member[at])
			}
			add('\n')
		}
	}
	return fmt.Sprintf("%016x", h)
}

// stillComplete says that nothing was given to a picked member since the rollout was complete. One that
// is not available any more does not begin it anew.
func (e *evaluation) stillComplete(step int64) bool {
	for i := range e.views {
		if v := &e.views[i]; !v.binding.Waiting && (!v.current || v.entry.Generation > step) {
			return false
		}
	}
	return true
}

// highest is the highest generation of an entry.
func (e *evaluation) highest() int64 {
	step := int64(1)
	for i := range e.views {
		if en := e.views[i].entry; en != nil {
			step = max(step, en.Generation)
		}
	}
	return step
}

// rollout is what is told of the rollout; nil when there is none.
func (e *evaluation) rollout(m *api.RolloutMark) *api.Rollout {
	if m == nil {
		return nil
	}
	out := &api.Rollout{Snapshot: m.Snapshot, Since: m.Since, Complete: m.Completed > 0}
	if out.Complete {
		return out
	}
	held := e.holders()
	out.HeldUpTotal = len(held)
	for i := range held[:min(len(held), named)] {
		out.HeldUpBy = append(out.HeldUpBy, e.told(&held[i]))
	}
	until := e.waitsUntil()
	out.Message = e.waitsFor(out.HeldUpBy, len(held), until)
	deadline := api.ProgressDeadline(e.in.Placement.Annotations)
	out.Guarded = e.guarded()
	if deadline == 0 || e.paused() != nil || e.soaks() || len(held) == 0 && until.IsZero() && (e.allowsNothing() || out.Guarded) {
		return out
	}
	from := m.Since.Time
	if until.After(from) {
		from = until
	}
	out.Deadline = new(metav1.NewTime(from.Add(deadline)).Rfc3339Copy())
	return out
}

// paused says who paused the rollout, or froze all of them; nil when nobody did.
func (e *evaluation) paused() *api.Pause {
	if e.in.Frozen != nil {
		return api.PauseBy(e.in.Frozen)
	}
	return api.PauseOf(e.in.Placement.Annotations)
}

// guarded says that a freeze of a member, or a withdrawal that is held, keeps members from moving.
func (e *evaluation) guarded() bool {
	return e.in.Release != nil && slices.ContainsFunc(e.in.Release.Held, func(h api.Held) bool { return h.Guarded })
}

// letGo says that what kept members from moving when the last status was made keeps them no more.
func (e *evaluation) letGo() bool {
	was := e.previous.Rollout
	return e.previous.Paused != nil && e.paused() == nil || was != nil && was.Guarded && !e.guarded()
}

// allowsNothing says that the strategy itself lets no member move to another snapshot.
func (e *evaluation) allowsNothing() bool {
	ru := e.in.Placement.Spec.Strategy.RollingUpdate
	return ru != nil && ru.MaxUnavailable != nil && strings.TrimSuffix(ru.MaxUnavailable.String(), "%") == "0"
}

// waitsUntil is when the last member that waits by its unavailablePeriodSeconds alone is ready, zero
// when there is none.
func (e *evaluation) waitsUntil() time.Time {
	var last time.Time
	for i := range e.views {
		if at := e.views[i].readyAt; at.After(last) {
			last = at
		}
	}
	return last
}

// overdue says that the deadline of the rollout is over.
func (e *evaluation) overdue(r *api.Rollout) bool {
	if r == nil || r.Deadline == nil || e.in.Now.Before(r.Deadline.Time) {
		return false
	}
	return !e.in.Now.Before(e.in.JudgeFrom) || e.wasOverdue()
}

func (e *evaluation) wasOverdue() bool {
	return reasonOf(e.previous, kindOf(&e.in.Placement)+api.ConditionRolloutProgressing) == reasonDeadlineExceeded
}

// progressing is the condition that tells a rollout from one that stands still.
func (e *evaluation) progressing(r *api.Rollout) finding {
	f := finding{kind: api.ConditionRolloutProgressing, status: metav1.ConditionTrue, reason: reasonProgressing}
	f.message = fmt.Sprintf("snapshot %d is available on %d of %d members; %s", r.Snapshot, e.tally[isDone], e.tally[isPicked], r.Message)
	switch {
	case r.Complete:
		f.reason, f.since = reasonCompleted, r.Since.Time
		f.message = fmt.Sprintf("snapshot %d became available on every member", r.Snapshot)
	case e.paused() != nil:
		f.status, f.reason = metav1.ConditionUnknown, reasonPaused
		if e.in.Frozen != nil {
			f.reason = reasonFrozen
		}
	case e.overdue(r):
		f.status, f.reason, f.since = metav1.ConditionFalse, reasonDeadlineExceeded, r.Deadline.Time
		f.message = fmt.Sprintf("no member has advanced for %s; %s", brief(r.Deadline.Sub(r.Since.Time)), r.Message)
	default:
		e.underChecks(&f)
	}
	return f
}

// StandsStill says that the rollout of a placement stands still, as its status was written.
func StandsStill(st *api.PlacementStatus) bool {
	return st.Rollout != nil && slices.ContainsFunc(st.Conditions, func(c metav1.Condition) bool {
		return c.Reason == reasonDeadlineExceeded && c.Status == metav1.ConditionFalse
	})
}
