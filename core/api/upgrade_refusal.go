package api

import (
	"strings"

	"flotilla/core/strict"
)

// Error codes of operations on runs, profiles and gates (A61).
const (
	CodeInvalidArgument          = "InvalidArgument"
	CodeNoMembers                = "NoMembers"
	CodeDuplicateMember          = "DuplicateMember"
	CodeGroupNotFound            = "GroupNotFound"
	CodeUnknownKubernetesVersion = "UnknownKubernetesVersion"
	CodeRunNotFound              = "NotFound"
	CodeSkipTargetNotFound       = "SkipTargetNotFound"
	CodeInvalidState             = "InvalidState"
	CodeTargetInProgress         = "TargetInProgress"
	CodeTargetAlreadyTerminal    = "TargetAlreadyTerminal"
	CodeGateNotPending           = "GateNotPending"
	CodeNameExists               = "NameExists"
	CodeIneligible               = "Ineligible"
	CodeETagMismatch             = "ETagMismatch"
	CodeLimitExceeded            = "LimitExceeded"
)

// Refusal is an operation on a run, profile or gate that a rule forbids. It is an error.
type Refusal struct {
	// Code is one of the codes above.
	Code    string        `json:"code"`
	Message string        `json:"message"`
	Faults  strict.Faults `json:"faults,omitempty"`
	// Members that are to blame, sorted.
	Members []string `json:"members,omitempty"`
	// Next is a command to try.
	Next string `json:"next,omitempty"`
}

// Error returns the code, the message and every fault, one a line.
func (r *Refusal) Error() string {
	text := r.Code + ": " + r.Message
	if len(r.Faults) > 0 {
		text += "\n" + r.Faults.Error()
	}
	return text
}

// Status returns the code of the reply that carries the refusal: 400, 404, 409, 412 or 422.
func (r *Refusal) Status() string {
	switch r.Code {
	case CodeRunNotFound, CodeSkipTargetNotFound:
		return CodeNotFound
	case CodeInvalidState, CodeTargetInProgress, CodeTargetAlreadyTerminal, CodeGateNotPending, CodeNameExists, CodeIneligible:
		return CodeConflict
	case CodeETagMismatch:
		return CodePrecondition
	case CodeLimitExceeded:
		return CodeLimit
	default:
		return CodeInvalid
	}
}

// Failure returns the reply that carries the refusal.
func (r *Refusal) Failure() *Failure {
	message := r.Code + ": " + r.Message
	if len(r.Members) > 0 && !strings.Contains(r.Message, r.Members[0]) {
		message += ": " + strings.Join(r.Members, ", ")
	}
	return &Failure{Code: r.Status(), Message: message, Faults: r.Faults, Next: r.Next}
}

// InvalidArgument returns the refusal for documents with faults, or nil when there are none.
func InvalidArgument(faults strict.Faults) *Refusal {
	if len(faults) == 0 {
		return nil
	}
	return &Refusal{Code: CodeInvalidArgument, Message: "the document has faults", Faults: faults}
}
