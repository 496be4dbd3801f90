package upgrade

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/stage"
	"flotilla/core/version"
)

// Record takes in the result of an operation, or gives up one that takes too long, or lets go of the
// lock of one that was given up.
func (e *engine) Record(p stage.Place) {
	was := e.At(p)
	result, known := e.view.Results[was.OperationID]
	running := was.Status.State == api.StateRunning
	said := e.saying(was, &result, known)
	switch ended := known && result.Outcome != api.OutcomeRunning; {
	case running && ended:
		e.conclude(e.Change(p), &result)
	case running && e.Overdue(was):
		e.Fail(e.Change(p), api.ReasonTimeout, fmt.Sprintf("no result within %s; the operation was left alone", api.Span(e.Status.Policy.MemberTimeout)))
	case running && said != was.Message:
		e.Say(p, said)
	case !running && ended:
		m := e.Change(p)
		e.recordLate(m, &result)
		e.Unlock(m)
	case !running && (!e.Now.Before(e.LockEnd(was)) || e.disowned(was)):
		e.Unlock(e.Change(p))
	}
}

// saying is what the message of a running member should be: what its agent said last, and whether
// anything is heard of it still.
func (e *engine) saying(m *api.MemberUpdateStatus, r *api.UpgradeResult, known bool) string {
	text := stage.Said(m)
	if known {
		text = progress(r)
	}
	f := e.frozen(m)
	if f == nil || f.Reachable || f.LastSeen.IsZero() {
		return text
	}
	return stage.Unheard(text, f.LastSeen)
}

// progress is the message of an operation that runs.
func progress(r *api.UpgradeResult) string {
	if r.Message == "" {
		return fmt.Sprintf("%d %% done", r.Percent)
	}
	return stage.Cut(fmt.Sprintf("%d %% done: %s", r.Percent, r.Message), stage.MessageRoom)
}

// conclude records the result of the operation that runs, as of when the agent says that it ended.
func (e *engine) conclude(m *api.MemberUpdateStatus, r *api.UpgradeResult) {
	e.Unlock(m)
	said := stage.Cut(r.Message, stage.MessageRoom)
	switch r.Outcome {
	case api.OutcomeSucceeded:
		m.NodeImages = poolResults(m.NodeImages, nil, true)
		m.Status.Error = nil
		m.Reason, m.Message = "", concluded(m, said)
		e.Enter(&m.Status, api.StateCompleted)
		m.Status.CompletedTime = e.endOf(m, r)
	case api.OutcomeBlocked:
		e.Remember(m, api.StatePending, api.ReasonPreflightBlocked, said)
		m.Reason, m.Message = api.ReasonPreflightBlocked, said
		m.PendingSince, m.NextEligibleTime = e.Stamp(), metav1.NewTime(e.Now.Add(PreflightRetry))
		e.Enter(&m.Status, api.StatePending)
	default:
		reason := stage.Cut(r.Reason, stage.ReasonRoom)
		if reason == "" {
			reason = api.ReasonUpgradeFailed
		}
		m.NodeImages = poolResults(m.NodeImages, r.Pools, false)
		e.Fail(m, reason, said)
		m.Status.CompletedTime = e.endOf(m, r)
	}
}

// endOf is when an operation ended: when the agent says it did, unless that is before its start or still
// to come.
func (e *engine) endOf(m *api.MemberUpdateStatus, r *api.UpgradeResult) metav1.Time {
	at := r.At.UTC().Truncate(time.Second)
	switch {
	case r.At.IsZero(), at.After(e.Now):
		return e.Stamp()
	case at.Before(m.Status.StartTime.Time):
		return m.Status.StartTime
	default:
		return metav1.NewTime(at)
	}
}

// concluded is the message of a completed member: what was done, and what the driver had to say.
func concluded(m *api.MemberUpdateStatus, said string) string {
	from, _ := version.Parse(m.FromVersion)
	to, moved := version.Parse(m.ToVersion)
	done := moves{controlPlane: moved, pools: m.NodeImages}
	text := done.describe(from, to)
	if said != "" {
		text += "; " + said
	}
	return stage.Cut(text, stage.MessageRoom)
}

// poolResults marks the planned pools as done: all of them, or those listed.
func poolResults(pools []api.PoolUpgrade, done []string, all bool) []api.PoolUpgrade {
	out := slices.Clone(pools)
	for i := range out {
		switch {
		case out[i].Result != api.PoolPlanned:
		case all || slices.Contains(done, out[i].Pool):
			out[i].Result = api.PoolUpgraded
		default:
			out[i].Result = api.PoolNotMoved
		}
	}
	return out
}

// recordLate keeps a result that came after its operation was given up.
func (e *engine) recordLate(m *api.MemberUpdateStatus, r *api.UpgradeResult) {
	state := api.StateFailed
	if r.Outcome == api.OutcomeSucceeded {
		state = api.StateCompleted
	}
	e.RememberLate(m, state, r.Reason, r.Message)
}

// disowned reports whether the agent of a member that was given up has said since then that the
// operation is not in progress.
func (e *engine) disowned(m *api.MemberUpdateStatus) bool {
	f := e.frozen(m)
	return f != nil && f.Inventory.CurrentOperation != m.OperationID &&
		f.Inventory.Observed.After(m.Status.CompletedTime.Time)
}

// Ended is nothing: an upgrade that has all stages behind it is done.
func (*engine) Ended() *api.UpdateError { return nil }

// LockEnd is when the lock of a given up operation ends if its agent stays silent.
func (e *engine) LockEnd(m *api.MemberUpdateStatus) time.Time {
	heard := m.Status.CompletedTime.Time
	if f := e.frozen(m); f != nil && !f.LastSeen.IsZero() {
		heard = f.LastSeen
	}
	return heard.Add(LockGrace)
}
