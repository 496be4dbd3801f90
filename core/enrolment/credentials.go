package enrolment

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
)

// Overdue is when an agent is late with renewing the credentials of a record: from three quarters of their time on;
// zero where they have no end.
func Overdue(record *api.Identity) time.Time {
	if record.Ends.IsZero() {
		return time.Time{}
	}
	return record.Issued.Add(record.Ends.Sub(record.Issued.Time) / 4 * 3)
}

// Credentials says how those of a member's agent stand.
func Credentials(record *api.Identity, now time.Time) api.AgentCredentials {
	c := api.AgentCredentials{
		State: api.CredentialsValid, Key: record.Key, Enrolled: record.Enrolled, Ends: record.Ends,
		Revoked: record.Revoked, RevokedBy: record.RevokedBy,
	}
	overdue := Overdue(record)
	switch {
	case record.Key == "" && record.Revoked != nil:
		c.State, c.Message = api.CredentialsRevoked, RevokedText(record)
	case record.Key == "":
		c.State, c.Message = api.CredentialsNotEnrolled, "its agent has not come with a token; for one: "+api.EnrolCommand(record.Name)
	case record.Ends.IsZero():
		c.Message = "who made them knows when they end"
	case !now.Before(record.Ends.Time):
		c.State, c.Message = api.CredentialsEnded, fmt.Sprintf("they ended at %s; its agent gets others for its key when it is back", text(record.Ends))
	case !now.Before(overdue):
		c.State, c.Message = api.CredentialsOverdue, fmt.Sprintf(
			"they end at %s, and its agent, which asks for others from %s on, did not get any; its log says why", text(record.Ends), text(metav1.NewTime(Half(record))))
	default:
		c.Message = fmt.Sprintf("until %s; its agent asks for others from %s on", text(record.Ends), text(metav1.NewTime(Half(record))))
	}
	return c
}

// RevokedText says of a record that its agent was revoked, by whom, and what to do for another.
func RevokedText(record *api.Identity) string {
	by := "by " + record.RevokedBy
	if record.RevokedBy == byLeaving {
		by = "because its member left the fleet"
	}
	return fmt.Sprintf("its agent was revoked at %s %s; for another: %s", text(*record.Revoked), by, api.EnrolCommand(record.Name))
}

// Condition is what an agent's credentials come to, as a condition of its member. It becomes True when they are given.
func Condition(record *api.Identity, c *api.AgentCredentials) metav1.Condition {
	out := metav1.Condition{
		Type: api.ConditionCredentialsValid, Status: metav1.ConditionTrue, Reason: c.State, Message: c.Message, LastTransitionTime: record.Issued,
	}
	switch c.State {
	case api.CredentialsEnded:
		out.Status, out.LastTransitionTime = metav1.ConditionFalse, record.Ends
	case api.CredentialsRevoked:
		out.Status, out.LastTransitionTime = metav1.ConditionFalse, *record.Revoked
	case api.CredentialsNotEnrolled:
		out.Status = metav1.ConditionFalse
		if n := len(record.Tokens); n > 0 {
			out.LastTransitionTime = record.Tokens[n-1].Made
		}
	}
	return out
}
