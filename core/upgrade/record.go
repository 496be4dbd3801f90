package upgrade

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/version"
)

// record takes in the results of operations, gives up those that take too long, and lets go of the
// locks of those that were given up.
func (e *engine) record() {
	for i := range e.st.Stages {
		stage := &e.st.Stages[i]
		for j := range stage.Groups {
			for k := range stage.Groups[j].Members {
				if m := &e.st.Stages[i].Groups[j].Members[k]; m.Status.State == api.StateRunning || m.Locked {
					e.recordMember(i, j, k)
				}
			}
		}
	}
}

func (e *engine) recordMember(i, j, k int) {
	was := &e.st.Stages[i].Groups[j].Members[k]
	result, known := e.view.Results[was.OperationID]
	running := was.Status.State == api.StateRunning
	said := e.saying(was, &result, known)
	switch ended := known && result.Outcome != api.OutcomeRunning; {
	case running && ended:
		e.conclude(&e.own(i).Groups[j].Members[k], &result)
	case running && e.overdue(was):
		m := &e.own(i).Groups[j].Members[k]
		e.failMember(m, api.ReasonTimeout, fmt.Sprintf("no result within %s; the operation was left alone", api.Span(e.st.Policy.MemberTimeout)))
	case running && said != was.Message:
		e.say(i, j, k, said)
	case !running && ended:
		m := &e.own(i).Groups[j].Members[k]
		e.recordLate(m, &result)
		e.unlock(m)
	case !running && (e.silent(was) || e.disowned(was)):
		e.unlock(&e.own(i).Groups[j].Members[k])
	}
}

// progress is the message of an operation that runs.
func progress(r *api.UpgradeResult) string {
	if r.Message == "" {
		return fmt.Sprintf("%d %% done", r.Percent)
	}
	return cut(fmt.Sprintf("%d %% done: %s", r.Percent, r.Message), messageRoom)
}

// Bytes that a record has room for: of the message of a member's latest attempt, of one in its history,
// and of a reason. Agents send longer ones, and a record holds 1,000 members with ten attempts each.
const (
	messageRoom = 512
	historyRoom = 128
	reasonRoom  = 64
)

// conclude records the result of the operation that runs, as of when the agent says that it ended.
func (e *engine) conclude(m *api.MemberUpdateStatus, r *api.UpgradeResult) {
	e.unlock(m)
	said := cut(r.Message, messageRoom)
	switch r.Outcome {
	case api.OutcomeSucceeded:
		m.NodeImages = poolResults(m.NodeImages, nil, true)
		m.Status.Error = nil
		m.Reason, m.Message = "", concluded(m, said)
		e.enter(&m.Status, api.StateCompleted)
		m.Status.CompletedTime = e.endOf(m, r)
	case api.OutcomeBlocked:
		e.remember(m, api.StatePending, api.ReasonPreflightBlocked, said)
		m.Reason, m.Message = api.ReasonPreflightBlocked, said
		m.PendingSince, m.NextEligibleTime = e.stamp(), metav1.NewTime(e.now.Add(PreflightRetry))
		e.enter(&m.Status, api.StatePending)
	default:
		reason := cut(r.Reason, reasonRoom)
		if reason == "" {
			reason = api.ReasonUpgradeFailed
		}
		m.NodeImages = poolResults(m.NodeImages, r.Pools, false)
		e.failMember(m, reason, said)
		m.Status.CompletedTime = e.endOf(m, r)
	}
}

// endOf is when an operation ended: when the agent says it did, unless that is before its start or still
// to come.
func (e *engine) endOf(m *api.MemberUpdateStatus, r *api.UpgradeResult) metav1.Time {
	at := r.At.UTC().Truncate(time.Second)
	switch {
	case r.At.IsZero(), at.After(e.now):
		return e.stamp()
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
	return cut(text, messageRoom)
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

// failMember makes a member Failed. The message stands with the member alone; Explained tells it in the
// error too.
func (e *engine) failMember(m *api.MemberUpdateStatus, reason, message string) {
	m.Reason, m.Message = reason, message
	m.NextEligibleTime = metav1.Time{}
	m.Status.Error = &api.UpdateError{Code: reason, Target: m.Name}
	e.enter(&m.Status, api.StateFailed)
}

// remember moves what is known of the latest attempt into the history.
func (e *engine) remember(m *api.MemberUpdateStatus, state api.UpdateState, reason, message string) {
	ended := m.Status.CompletedTime
	if ended.IsZero() {
		ended = e.stamp()
	}
	m.History = addAttempt(m.History, api.UpgradeAttempt{
		OperationID: m.OperationID, Attempt: m.Attempt, Started: m.Status.StartTime, Ended: ended,
		State: state, Reason: reason, Message: cut(message, historyRoom),
	})
}

// recordLate keeps a result that came after its operation was given up.
func (e *engine) recordLate(m *api.MemberUpdateStatus, r *api.UpgradeResult) {
	state := api.StateFailed
	if r.Outcome == api.OutcomeSucceeded {
		state = api.StateCompleted
	}
	m.History = addAttempt(m.History, api.UpgradeAttempt{
		OperationID: m.OperationID, Attempt: m.Attempt, Started: m.Status.StartTime, Ended: e.stamp(),
		State: state, Reason: cut(r.Reason, reasonRoom), Message: cut(r.Message, historyRoom), Late: true,
	})
}

// addAttempt appends without touching the list that came in, and keeps the newest.
func addAttempt(list []api.UpgradeAttempt, a api.UpgradeAttempt) []api.UpgradeAttempt {
	out := append(slices.Clip(list), a)
	if len(out) > api.MaxHistory {
		out = out[len(out)-api.MaxHistory:]
	}
	return out
}

// unlock gives the member's lock back.
func (e *engine) unlock(m *api.MemberUpdateStatus) {
	if m.Locked {
		m.Locked = false
		e.out.Release = append(e.out.Release, Lock{Member: m.Name, Operation: m.OperationID})
	}
}

// overdue reports whether a running member exceeded the run's timeout.
func (e *engine) overdue(m *api.MemberUpdateStatus) bool {
	limit := api.Span(e.st.Policy.MemberTimeout)
	return limit > 0 && !e.now.Before(m.Status.StartTime.Add(limit))
}

// silent reports whether the agent of a member that was given up was not heard of for the grace of
// its lock.
func (e *engine) silent(m *api.MemberUpdateStatus) bool {
	return !e.now.Before(e.lockEnd(m))
}

// disowned reports whether the agent of a member that was given up has said since then that the
// operation is not in progress.
func (e *engine) disowned(m *api.MemberUpdateStatus) bool {
	f, ok := e.view.Fleet.members[m.Name]
	return ok && f.is(m.ClusterResourceID) && f.Inventory.CurrentOperation != m.OperationID &&
		f.Inventory.Observed.After(m.Status.CompletedTime.Time)
}

// lockEnd is when the lock of a given up operation ends if its agent stays silent.
func (e *engine) lockEnd(m *api.MemberUpdateStatus) time.Time {
	heard := m.Status.CompletedTime.Time
	if f, ok := e.view.Fleet.members[m.Name]; ok && f.is(m.ClusterResourceID) && !f.LastSeen.IsZero() {
		heard = f.LastSeen
	}
	return heard.Add(LockGrace)
}
