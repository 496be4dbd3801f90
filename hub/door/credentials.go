package door

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/enrolment"
	"flotilla/subjects"
)

// credentials are how those of a member's agent stand, nil where others made them.
func (d *Door) credentials(record *api.MemberRecord) (*api.AgentCredentials, *api.Identity) {
	identity, _, known := d.records.identities.Get(record.Name)
	if !known {
		return nil, nil
	}
	c := enrolment.Credentials(&identity, d.store.Now())
	if c.State == api.CredentialsOverdue || c.State == api.CredentialsValid {
		c.Renewal = record.Renewal
	}
	return &c, &identity
}

func (d *Door) addCredentials(status *api.MemberClusterStatus, record *api.MemberRecord) {
	c, identity := d.credentials(record)
	if c == nil {
		return
	}
	status.Credentials = c
	status.Conditions = append(status.Conditions, enrolment.Condition(identity, c))
}

// credentialProblems are those of an agent that will not be heard any more, or is not, unless somebody helps it.
func (d *Door) credentialProblems(record *api.MemberRecord) []api.Problem {
	c, identity := d.credentials(record)
	if record.UID == "" || c == nil {
		return nil
	}
	problem := api.Problem{
		Object: subjects.KindMember + "/" + record.Name, Reason: c.State, Message: "the credentials of its agent: " + c.Message,
		Since: metav1.NewTime(enrolment.Overdue(identity)), Next: "flotilla describe member " + record.Name,
	}
	switch {
	case c.State == api.CredentialsEnded:
		problem.Since = c.Ends
	case c.State != api.CredentialsOverdue:
		return nil
	case c.Renewal != "":
		problem.Message += "; it says: " + c.Renewal
	}
	return []api.Problem{problem}
}
