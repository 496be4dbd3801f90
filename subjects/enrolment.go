package subjects

import "flotilla/core/api"

// Roles of the credentials of a member's agent. Account AGENTS has a signing key for each, which gives exactly the
// permissions of the role to the member that is the name of the user.
const (
	// RoleEnrolling may ask to be enrolled and nothing else: a token carries such credentials, and a registered agent
	// keeps some for when its others have ended.
	RoleEnrolling = api.AgentEnrolling
	// RoleJoining is that of an agent whose member nobody admitted yet: it is heard of.
	RoleJoining = api.AgentJoining
	// RoleAgent is that of the agent of a member of the fleet.
	RoleAgent = api.AgentAdmitted
)

// AgentRoles are the roles from the least to the most that they may do.
func AgentRoles() []string { return []string{RoleEnrolling, RoleJoining, RoleAgent} }

// Enrolment is the subject on which the agent of a member asks for credentials, "flotilla.<fleet>.enrol.<member>".
func (f Fleet) Enrolment(member string) string { return f.Prefix() + ".enrol." + member }

// ParseEnrolment is the inverse of Enrolment; false where the member is no DNS label.
func (f Fleet) ParseEnrolment(subject string) (member string, ok bool) {
	member, ok = cutPrefix(subject, f.Prefix()+".enrol.")
	return member, ok && CheckLabel("member", member) == nil
}

// RolePermissions are exactly what credentials of a role may do in account AGENTS; none for a word that is no role.
func (f Fleet) RolePermissions(role, member string) Permissions {
	enrolling := Permissions{Publish: []string{f.Enrolment(member)}, Subscribe: []string{Inbox(member) + ".>"}}
	switch role {
	case RoleEnrolling:
		return enrolling
	case RoleJoining:
		enrolling.Publish = append(enrolling.Publish, f.BucketSubject(Heartbeat, member))
		return enrolling
	case RoleAgent:
		return f.AgentPermissions(member)
	}
	return Permissions{}
}
