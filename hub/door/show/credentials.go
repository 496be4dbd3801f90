package show

import (
	"flotilla/core/api"
	"flotilla/core/enrolment"
)

// credentials are how those of a member's agent stand, nil where others made them.
func (v *View) credentials(record *api.MemberRecord) (*api.AgentCredentials, *api.Identity) {
	identity, _, known := v.identities.Get(record.Name)
	if !known {
		return nil, nil
	}
	c := enrolment.Credentials(&identity, v.store.Now())
	if c.State == api.CredentialsOverdue || c.State == api.CredentialsValid {
		c.Renewal = record.Renewal
	}
	return &c, &identity
}

// AgentKey is the public key that the agent of a member registered, empty where there is none.
func (v *View) AgentKey(member string) string {
	identity, _, _ := v.identities.Get(member)
	return identity.Key
}

func (v *View) addCredentials(status *api.MemberClusterStatus, record *api.MemberRecord) {
	c, identity := v.credentials(record)
	if c == nil {
		return
	}
	status.Credentials = c
	status.Conditions = append(status.Conditions, enrolment.Condition(identity, c))
}
