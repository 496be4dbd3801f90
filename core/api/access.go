package api

import (
	"fmt"
	"slices"
	"strings"
)

// Role is what a person may do. Each role may also do what those before it may.
type Role string

// The roles of people.
const (
	RoleViewer   Role = "viewer"   // reads everything but Secrets
	RoleOperator Role = "operator" // applies, runs, approves
	RoleAdmin    Role = "admin"    // members and people
)

// Roles lists the roles, the least first.
func Roles() []Role { return []Role{RoleViewer, RoleOperator, RoleAdmin} }

// ParseRole reads a role as people type it.
func ParseRole(text string) (Role, error) {
	if role := Role(text); slices.Contains(Roles(), role) {
		return role, nil
	}
	return "", fmt.Errorf("role %q: expected viewer, operator or admin", text)
}

// Covers says that a role may do what needs another one. What is no role covers nothing.
func (r Role) Covers(needed Role) bool {
	own, other := slices.Index(Roles(), r), slices.Index(Roles(), needed)
	return own >= 0 && other >= 0 && own >= other
}

// Caller is who sent a request, as the servers vouch for it: nothing of it is taken from the request's body.
type Caller struct {
	Name string
	Role Role
	// Key is the public key of the user of NATS, Address where it connected from; empty where the server
	// does not tell.
	Key, Address string
	// Verb is what is asked for. Request is the id of the request, one for all its tries.
	Verb, Request string
}

// IsHub says that a hub asks for itself, under a name that no person may have, and over no connection of a person's.
func (c Caller) IsHub() bool { return c.Key == "" && strings.ContainsAny(c.Name, "/ ") }

// Audit is an event that the caller caused.
func (c Caller) Audit(e Audit) Audit {
	e.By, e.Request, e.From = c.Name, c.Request, c.Address
	return e
}

// Asked is part of requests whose handlers go by who sent them.
type Asked struct {
	By Caller `json:"-"`
}

// From notes who sent the request.
func (a *Asked) From(by Caller) { a.By = by }

// VerbAccess is what a verb of the service does, and the least role that may use it.
type VerbAccess struct {
	Verb  string
	Needs Role
	Does  string
}

// VerbTable lists all verbs of the service by role. The subjects of requests, the permissions of people and
// the documents follow from it.
func VerbTable() []VerbAccess {
	return []VerbAccess{
		{VerbGet, RoleViewer, "reads one object"},
		{VerbList, RoleViewer, "lists objects"},
		{VerbWatch, RoleViewer, "waits until objects change"},
		{VerbPlan, RoleViewer, "plans documents and runs without changing anything"},
		{VerbWhatIf, RoleViewer, "tells what would move without members, or with others"},
		{VerbPreview, RoleViewer, "shows what a member is given of a placement"},
		{VerbRolloutHistory, RoleViewer, "lists the revisions of a placement"},
		{VerbTrace, RoleViewer, "tells when the last change of a placement came where"},
		{VerbHistory, RoleViewer, "tells what became of a placement, and how it was"},
		{VerbWhy, RoleViewer, "explains where a placement goes"},
		{VerbEvents, RoleViewer, "reads what happened"},
		{VerbStatus, RoleViewer, "reads the fleet on one screen"},
		{VerbMember, RoleViewer, "reads what a member holds, and who has a hold of it"},
		{VerbFleet, RoleViewer, "reads a row of each member, placement and run"},
		{VerbCells, RoleViewer, "reads where the members stand with placements"},
		{VerbWindows, RoleViewer, "reads the maintenance schedules of members"},
		{VerbVersion, RoleViewer, "reads versions of hub and server"},
		{VerbUnconfirmed, RoleViewer, "reads who has not confirmed a deletion"},
		{VerbNodes, RoleViewer, "lists nodes of members"},
		{VerbDisruptions, RoleViewer, "lists disruptions of nodes"},
		{VerbPlanNodes, RoleViewer, "plans disruptions of nodes"},
		{VerbWhyNode, RoleViewer, "explains what is decided about a node"},
		{VerbBudgets, RoleViewer, "reads budgets of node pools"},
		{VerbWhoami, RoleViewer, "reads who one is"},
		{VerbKey, RoleViewer, "reads the key that requests are sealed to"},
		{VerbWeb, RoleViewer, "makes a link to the page of the hub"},
		{VerbToken, RoleViewer, "makes a token for the Kubernetes API of the hub"},
		{VerbApply, RoleOperator, "creates and changes objects"},
		{VerbPatch, RoleOperator, "changes one object"},
		{VerbDelete, RoleOperator, "deletes objects"},
		{VerbRolloutUndo, RoleOperator, "takes a placement back to an earlier revision"},
		{VerbRolloutPause, RoleOperator, "pauses the rollout of a placement"},
		{VerbRolloutResume, RoleOperator, "resumes the rollout of a placement"},
		{VerbRolloutRestart, RoleOperator, "restarts the workloads of a placement"},
		{VerbApproveWithdrawal, RoleOperator, "lets a withdrawal go that is held"},
		{VerbRunStart, RoleOperator, "starts a run"},
		{VerbRunStop, RoleOperator, "stops a run"},
		{VerbRunSkip, RoleOperator, "skips parts of a run"},
		{VerbRunApprove, RoleOperator, "approves a gate of a run"},
		{VerbRunRerun, RoleOperator, "takes up members of a run again"},
		{VerbRunGenerate, RoleOperator, "makes a run of an auto-upgrade profile"},
		{VerbDeleteNode, RoleOperator, "deletes a node of a member"},
		{VerbRaw, RoleOperator, "reads records as the hub keeps them"},
		{VerbAdmit, RoleAdmin, "admits members"},
		{VerbEnrol, RoleAdmin, "makes tokens with which agents of members enrol"},
		{VerbMemberRevoke, RoleAdmin, "refuses agents of members"},
		{VerbFreeze, RoleAdmin, "freezes the fleet or a part of it"},
		{VerbUnfreeze, RoleAdmin, "ends a freeze"},
		{VerbUserAdd, RoleAdmin, "makes credentials for people"},
		{VerbUserList, RoleAdmin, "lists people"},
		{VerbUserRevoke, RoleAdmin, "revokes credentials of people"},
		{VerbBackup, RoleAdmin, "reads all of state, for a backup"},
		{VerbRestore, RoleAdmin, "goes on after state was lost, or with a backup"},
	}
}

// NeededFor is the least role that may use a verb; unknown verbs need an admin.
func NeededFor(verb string) Role {
	for _, v := range VerbTable() {
		if v.Verb == verb {
			return v.Needs
		}
	}
	return RoleAdmin
}

// NeededToWrite is the least role that may create, change or delete objects of a kind: members belong to
// admins, everything else to operators.
func NeededToWrite(kind string) Role {
	if kind == KindMemberCluster {
		return RoleAdmin
	}
	return RoleOperator
}

// NeededToRead is the least role that may read objects of a kind, which goes by its group as these are found by: Secrets belong to operators,
// whatever version is asked for.
func NeededToRead(apiVersion, kind string) Role {
	if group, _ := SplitAPIVersion(apiVersion); kind == "Secret" && group == "" {
		return RoleOperator
	}
	return RoleViewer
}

// Forbidden is the refusal of what needs another role: what is what was asked, as in "applying members".
func Forbidden(by Caller, needed Role, what string) *Failure {
	return &Failure{
		Code: CodeRefused,
		Message: fmt.Sprintf("%s needs the role %s: %s is %s; an admin gives it: flotilla user renew %s --role %s",
			what, needed, by.Name, by.Role, by.Name, needed),
		Next: "flotilla whoami",
	}
}

// Verbs about who asks, and about records as they are kept.
const (
	VerbWhoami = "whoami"
	VerbRaw    = "raw"
	VerbKey    = "key"
)

// KeyResponse has the public curve key (X…) of the hub, which requests are sealed to.
type KeyResponse struct {
	Key string `json:"key"`
}

// WhoamiResponse says who sent the request.
type WhoamiResponse struct {
	Name    string `json:"name"`
	Role    Role   `json:"role"`
	Address string `json:"address,omitempty"`
}

// WhoamiRequest has no fields.
type WhoamiRequest struct{ Asked }

// RawRequest reads one record as the hub keeps it, unpacked.
type RawRequest struct {
	Bucket string `json:"bucket"`
	Key    string `json:"key"`
}

// RawResponse holds the JSON of the record, nothing when there is none.
type RawResponse struct {
	Value []byte `json:"value,omitempty"`
}

// MaxUserName is how many characters the name of a person may have.
const MaxUserName = 63

// rooms are the parts of the hub whose names stand in events where those of people do.
var rooms = []string{
	"hub", "door", "registrar", "enroller", "scheduler", "renderer", "roller", "runner", "checker", "disruptor", "dispatcher", "reporter", "gauger", "reads",
	"notifier", "agent", "user",
}

// CheckUser says what is wrong with the name of a person: 1 to 63 of a-z, A-Z, 0-9 and . _ @ + -, a letter or
// digit first, and not the name of a part of the hub.
func CheckUser(name string) error {
	letter := func(c rune) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
	}
	wrong := strings.ContainsFunc(name, func(c rune) bool { return !letter(c) && !strings.ContainsRune("._@+-", c) })
	if wrong || name == "" || len(name) > MaxUserName || !letter(rune(name[0])) {
		return fmt.Errorf("user name %q: expected 1 to %d letters, digits and . _ @ + -, a letter or digit first", name, MaxUserName)
	}
	if slices.Contains(rooms, name) {
		return fmt.Errorf("user name %q: expected another one, which no part of the hub goes by in events", name)
	}
	return nil
}
