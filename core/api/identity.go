package api

import (
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// CredentialsLife is for how long credentials of agents hold unless told otherwise.
const CredentialsLife = 30 * 24 * time.Hour

// Roles of the credentials of a member's agent, see subjects.Fleet.RolePermissions.
const (
	AgentEnrolling = "enrolling"
	AgentJoining   = "joining"
	AgentAdmitted  = "agent"
)

// ReasonNoKey and KeylessMessage say that nothing can be placed on a member, because there is nobody to seal it to.
const (
	ReasonNoKey    = "NoKey"
	KeylessMessage = "its agent registered no key that its placements could be sealed to, so that it is given none"
)

// EnrolCommand makes a token for the agent of a member.
func EnrolCommand(member string) string {
	return "flotilla member enrol " + member + " > " + member + ".token"
}

// Identity is the record of how the agent of a member proves who it is.
type Identity struct {
	Header
	Name string `json:"name"`
	// Key is the public key (U…) that the agent made and registered with a token; empty before.
	Key string `json:"key,omitempty"`
	// SealingKey is its public curve key (X…), for what only it is to read; empty together with Key.
	SealingKey string `json:"sealingKey,omitempty"`
	// Enrolled is when the keys were registered.
	Enrolled metav1.Time `json:"enrolled,omitzero"`
	// Role of the credentials that were given last, and from when until when they hold.
	Role   string      `json:"role,omitempty"`
	Issued metav1.Time `json:"issued,omitzero"`
	Ends   metav1.Time `json:"ends,omitzero"`
	// Overdue says that it was told that the agent is late with renewing them.
	Overdue bool `json:"overdue,omitempty"`
	// Serial is that of the newest statement that changed the record.
	Serial int64 `json:"serial,omitempty"`
	// Former are keys that were the agent's and are refused, the newest last.
	Former []string `json:"former,omitempty"`
	// Admitted says that the member was part of the fleet when the record was written, and Left is since when it is
	// not any more, until its agent is revoked for that.
	Admitted bool         `json:"admitted,omitempty"`
	Left     *metav1.Time `json:"left,omitempty"`
	// Revoked is when the last agent was, and RevokedBy who did; empty while there is one.
	Revoked   *metav1.Time `json:"revoked,omitempty"`
	RevokedBy string       `json:"revokedBy,omitempty"`
	// Tokens that were made for the member, the newest last.
	Tokens []IssuedToken `json:"tokens,omitempty"`
}

// IssuedToken is what the hub knows of a token.
type IssuedToken struct {
	// Key is the public key (U…) whose seed the token holds.
	Key  string      `json:"key"`
	Made metav1.Time `json:"made"`
	Ends metav1.Time `json:"ends"`
	By   string      `json:"by,omitempty"`
	// Used is when the token was traded, and UsedBy the key that was registered with it.
	Used   *metav1.Time `json:"used,omitempty"`
	UsedBy string       `json:"usedBy,omitempty"`
}

// Standings of an agent's credentials.
const (
	CredentialsValid       = "Valid"
	CredentialsOverdue     = "RenewalOverdue"
	CredentialsEnded       = "CredentialsEnded"
	CredentialsRevoked     = "AgentRevoked"
	CredentialsNotEnrolled = "NotEnrolled"
)

// AgentCredentials are how the credentials of a member's agent stand.
type AgentCredentials struct {
	// State is one of the words above, and Message explains it.
	State   string `json:"state"`
	Message string `json:"message,omitempty"`
	// Key is the public key that the agent registered, empty while there is none.
	Key      string      `json:"key,omitempty"`
	Enrolled metav1.Time `json:"enrolled,omitzero"`
	// Ends is when they end unless they are renewed; zero is not known.
	Ends metav1.Time `json:"ends,omitzero"`
	// Revoked is when the last agent was, and RevokedBy who did; only while there is no other.
	Revoked   *metav1.Time `json:"revoked,omitempty"`
	RevokedBy string       `json:"revokedBy,omitempty"`
	// Renewal is why the agent cannot renew them, as it says itself; empty while it can.
	Renewal string `json:"renewal,omitempty"`
}

// EnrolRequest asks for a token with which the agent of a member enrols once.
type EnrolRequest struct {
	Asked
	Name string `json:"name"`
	// Life is for how long the token holds, TokenLife when 0.
	Life metav1.Duration `json:"life,omitzero"`
	// DryRun makes no token: the answer says where one would lead, and what would be refused is refused.
	DryRun bool `json:"dryRun,omitempty"`
}

// Lives of tokens: unless told otherwise, and at least and at most.
const (
	TokenLife      = 24 * time.Hour
	LeastTokenLife = time.Minute
	MostTokenLife  = 30 * 24 * time.Hour
)

// EnrolResponse holds what the text of a token is made of.
type EnrolResponse struct {
	Token Token       `json:"token"`
	Ends  metav1.Time `json:"ends"`
}

// VerbMemberRevoke refuses the agent of a member.
const VerbMemberRevoke = "member-revoke"

// MemberRevokeRequest refuses the agent of a member from now on.
type MemberRevokeRequest struct {
	Asked
	Name string `json:"name"`
	// Key refuses the request where the agent holds another one by now, empty where it was to hold none; nil: whichever.
	Key *string `json:"key,omitempty"`
}

// MemberRevokeResponse says what became of it.
type MemberRevokeResponse struct {
	// Unchanged says that it was refused before.
	Unchanged bool `json:"unchanged,omitempty"`
	// Left is why servers go on to take its credentials, with the command that is left to be typed.
	Left *Failure `json:"left,omitempty"`
}

// EnrolmentRequest is the statement of an agent, on the subject of its member, that it holds a key. It asks for
// credentials: with a token to register the key, without one for a key that is registered.
type EnrolmentRequest struct {
	Header
	Key        string `json:"key"`
	SealingKey string `json:"sealingKey"`
	// Token is the public key of the token that is traded.
	Token string `json:"token,omitempty"`
	// Holds is the role of the credentials that the agent has already; who waits to be admitted is answered
	// when there are others.
	Holds string `json:"holds,omitempty"`
	// Serial is above that of every earlier statement with the key, so that none is heard twice.
	Serial int64 `json:"serial"`
	// Signature is by Key, and TokenSignature by Token, over Statement.
	Signature      []byte `json:"signature"`
	TokenSignature []byte `json:"tokenSignature,omitempty"`
}

// Statement is what an agent signs: all that the request says, for one member of one fleet.
func (r *EnrolmentRequest) Statement(fleet, member string) []byte {
	return []byte(strings.Join([]string{
		"flotilla enrolment", fleet, member, r.Key, r.SealingKey, r.Token, r.Holds, strconv.FormatInt(r.Serial, 10),
	}, "\n"))
}

// EnrolmentAnswer gives credentials, or says why not.
type EnrolmentAnswer struct {
	Header
	Refused *EnrolmentRefusal `json:"refused,omitempty"`
	// Role of the credentials, and how long they hold by the hub's clock; 0 is for ever.
	Role  string          `json:"role,omitempty"`
	Holds metav1.Duration `json:"holds,omitzero"`
	// Credentials is the user JWT of the key. Returning is one that may do nothing but ask on the subject of
	// the enrolment, and has no end. Both are empty where somebody else makes credentials.
	Credentials string `json:"credentials,omitempty"`
	Returning   string `json:"returning,omitempty"`
}

// EnrolmentRefusal says why an agent gets no credentials. It is an error.
type EnrolmentRefusal struct {
	// Reason is one word of core/enrolment.
	Reason  string `json:"reason"`
	Message string `json:"message"`
	// Later says that the same may be asked again.
	Later bool `json:"later,omitempty"`
	// Serial is the newest that was heard, where that is the reason.
	Serial int64 `json:"serial,omitempty"`
}

// Error returns the reason and the message.
func (r *EnrolmentRefusal) Error() string { return r.Reason + ": " + r.Message }
