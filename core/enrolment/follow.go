package enrolment

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
)

// Followed is what a record becomes because its member is part of the fleet or not any more, or time has passed.
type Followed struct {
	// Record is to be written when Write.
	Record api.Identity
	Write  bool
	// Recheck is when time alone changes the answer; zero is never.
	Recheck time.Time
	// Events are for the audit stream, without time and object.
	Events []api.Audit
}

// byLeaving stands for who revoked where the member left.
const byLeaving = "leaving"

// Standing is what is known of a member's place in the fleet.
type Standing int

// Missing is a member without a MemberCluster that nobody deleted: it was never admitted, or its record was lost.
const (
	Missing Standing = iota
	Present
	Deleted
)

// Follow revokes the agent of a member that was deleted, once so much time has passed that it can take off its nodes
// what it put there. Tokens that were made since are good: they are for another agent.
func Follow(record api.Identity, standing Standing, farewell time.Duration, now time.Time) Followed {
	switch {
	case standing == Present && record.Admitted && record.Left == nil:
		return remind(record, now)
	case standing == Present:
		record.Admitted, record.Left = true, nil
		return Followed{Record: record, Write: true}
	case standing == Deleted && record.Admitted:
		at := metav1.NewTime(now.UTC().Truncate(time.Second))
		record.Admitted, record.Left = false, &at
		return Followed{Record: record, Write: true}
	case record.Left == nil:
		return Followed{}
	}
	if over := record.Left.Add(farewell); now.Before(over) {
		return Followed{Recheck: over}
	}
	next, revoked := revoke(record, byLeaving, now, func(t *api.IssuedToken) bool { return t.Used == nil && t.Made.Before(record.Left) })
	next.Left = nil
	out := Followed{Record: next, Write: true}
	if revoked {
		out.Events = tell("Normal", ReasonRevoked, "its member left the fleet: "+Refused(record.Name))
	}
	return out
}

// remind tells once that an agent is late with renewing its credentials.
func remind(record api.Identity, now time.Time) Followed {
	due := Overdue(&record)
	switch {
	case record.Key == "" || record.Overdue || due.IsZero():
		return Followed{}
	case now.Before(due):
		return Followed{Recheck: due}
	}
	c := Credentials(&record, now)
	record.Overdue = true
	return Followed{Record: record, Write: true, Events: tell("Warning", api.CredentialsOverdue, "the credentials of its agent: "+c.Message)}
}

// ReasonRevoked is that of the event.
const ReasonRevoked = "Revoked"

// Refused says what revoking the agent of a member comes to.
func Refused(member string) string {
	return "its agent is refused, and tokens that were not used; for a new one: " + api.EnrolCommand(member)
}
