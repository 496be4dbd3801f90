package door

import (
	"flotilla/core/api"
	"flotilla/core/enrolment"
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
