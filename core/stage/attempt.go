package stage

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
)

// Bytes that a record has room for: of the message of a member's latest attempt, of one in its history,
// and of a reason. Agents send longer ones, and a record holds 1,000 members with ten attempts each.
const (
	MessageRoom = 512
	ReasonRoom  = 64
	historyRoom = 128
)

// Fail makes a member Failed. The message stands with the member alone; Explained tells it in the
// error too.
func (r *Run) Fail(m *api.MemberUpdateStatus, reason, message string) {
	m.Reason, m.Message = reason, message
	m.NextEligibleTime = metav1.Time{}
	m.Status.Error = &api.UpdateError{Code: reason, Target: m.Name}
	r.Enter(&m.Status, api.StateFailed)
}

// Remember moves what is known of the latest attempt into the history.
func (r *Run) Remember(m *api.MemberUpdateStatus, state api.UpdateState, reason, message string) {
	ended := m.Status.CompletedTime
	if ended.IsZero() {
		ended = r.Stamp()
	}
	addAttempt(m, api.UpgradeAttempt{Ended: ended, State: state, Reason: reason, Message: message})
}

// RememberLate keeps a result that came after its operation was given up.
func (r *Run) RememberLate(m *api.MemberUpdateStatus, state api.UpdateState, reason, message string) {
	addAttempt(m, api.UpgradeAttempt{Ended: r.Stamp(), State: state, Reason: Cut(reason, ReasonRoom), Message: message, Late: true})
}

// addAttempt adds to the history without touching the list that came in, and keeps the newest.
func addAttempt(m *api.MemberUpdateStatus, a api.UpgradeAttempt) {
	a.OperationID, a.Attempt, a.Started, a.Message = m.OperationID, m.Attempt, m.Status.StartTime, Cut(a.Message, historyRoom)
	out := append(slices.Clip(m.History), a)
	if len(out) > api.MaxHistory {
		out = out[len(out)-api.MaxHistory:]
	}
	m.History = out
}

// Unlock gives the member's lock back.
func (r *Run) Unlock(m *api.MemberUpdateStatus) {
	if m.Locked {
		m.Locked = false
		r.release = append(r.release, Lock{Member: m.Name, Operation: m.OperationID})
	}
}

// Overdue reports whether a running member exceeded the run's timeout.
func (r *Run) Overdue(m *api.MemberUpdateStatus) bool {
	limit := api.Span(r.Status.Policy.MemberTimeout)
	return limit > 0 && !r.Now.Before(m.Status.StartTime.Add(limit))
}
