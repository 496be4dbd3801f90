package health

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/enrolment"
	"flotilla/core/liveness"
	"flotilla/core/phrase"
)

func memberProblem(name, reason, message string, since metav1.Time) api.Problem {
	return api.Problem{
		Object: api.AuditObject(api.AuditMember, name), Reason: reason, Message: message, Since: since, Next: "flotilla describe member " + name,
	}
}

// Silent is that an admitted member was never heard of.
func Silent(name string, admitted metav1.Time) api.Problem {
	problem := memberProblem(name, string(api.MemberJoining), "admitted, but its agent never reported", admitted)
	problem.Next = api.EnrolCommand(name)
	return problem
}

// Member returns the problems of a member that was heard of; its identity is nil where it cannot be read.
func Member(record *api.MemberRecord, identity *api.Identity) (problems []api.Problem) {
	state := memberProblem(record.Name, string(record.State), record.Message, record.Since)
	switch {
	case record.UID == "":
		state.Message = "its agent runs, but it is no member: nobody admitted it, or it left and its agent is to be stopped"
		state.Next = "flotilla member admit " + record.Name
	case record.Reason == liveness.ReasonRevoked:
		state.Next = "flotilla member enrol " + record.Name + " > " + record.Name + ".token"
	}
	if record.UID == "" || record.Reason == liveness.ReasonRevoked || record.State != api.MemberReady {
		problems = append(problems, state)
	}
	add := func(reason, message, next string) {
		problems = append(problems, api.Problem{Object: state.Object, Reason: reason, Message: message, Since: state.Since, Next: next})
	}
	if record.AgentLevel > 0 && record.AgentLevel < api.Level {
		add(reasonLevelTooLow, fmt.Sprintf("its agent speaks level %d, this hub %d: it gets no commands it cannot read", record.AgentLevel, api.Level), state.Next)
	}
	if identity != nil && record.UID != "" && identity.SealingKey == "" && identity.Revoked == nil {
		add(api.ReasonNoKey, api.KeylessMessage, api.EnrolCommand(record.Name))
	}
	if len(record.Forbidden) > 0 {
		add(liveness.ReasonForbidden, liveness.ForbiddenText(record.Forbidden), state.Next)
	}
	if len(record.Unlisted) > 0 {
		add(reasonUnlisted, "it runs placements the hub does not know: "+phrase.Enumerate(record.Unlisted), state.Next)
	}
	return problems
}

// Credentials returns the problem of an agent that will not be heard any more, or is not, unless somebody helps it.
func Credentials(record *api.MemberRecord, identity *api.Identity, c *api.AgentCredentials) []api.Problem {
	problem := memberProblem(record.Name, c.State, "the credentials of its agent: "+c.Message, metav1.NewTime(enrolment.Overdue(identity)))
	switch {
	case record.UID == "":
		return nil
	case c.State == api.CredentialsEnded:
		problem.Since = c.Ends
	case c.State != api.CredentialsOverdue:
		return nil
	case c.Renewal != "":
		problem.Message += "; it says: " + c.Renewal
	}
	return []api.Problem{problem}
}

// exceededFor is how long a member stays a problem after it last stored more than its share.
const exceededFor = 10 * time.Minute

// Share returns the problem of a member that stored more than its share, as said, last at a time.
func Share(member, said string, last, now time.Time) []api.Problem {
	if now.Sub(last) >= exceededFor {
		return nil
	}
	return []api.Problem{memberProblem(member, api.ReasonShareExceeded, said, metav1.NewTime(last))}
}

// HeldBack is the problem of a member of which changes are held back, as said, since a time.
func HeldBack(member, said string, since time.Time) api.Problem {
	return memberProblem(member, ReasonHeldBack, said, metav1.NewTime(since))
}
