package session

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"flotilla/core/api"
	"flotilla/core/strict"
)

// Exit codes of every command.
const (
	ExitDone        = 0   // done, nothing to change
	ExitDifferent   = 1   // would change, not converged, or an object is not found
	ExitUsage       = 2   // the command line cannot be understood
	ExitRefused     = 3   // a rule forbids it, or a run has no such part; nothing was changed
	ExitPartial     = 4   // some of it failed, or the hub failed while doing it
	ExitUnreachable = 5   // no hub answered
	ExitTimedOut    = 124 // --timeout passed, or a signal ended the wait
)

// Failure ends a command with a code, and with what the user needs to go on.
type Failure struct {
	Code    int
	Message string // empty: everything was said already
	Faults  strict.Faults
	Next    string // a command to type
	All     string // the command that lists every fault with -o json
}

// Error returns the message and every fault, one a line.
func (f *Failure) Error() string {
	if len(f.Faults) == 0 {
		return f.Message
	}
	return strings.TrimSpace(f.Message + "\n" + f.Faults.Error())
}

// Usagef is a Failure of a command line that cannot be understood.
func Usagef(format string, args ...any) *Failure {
	return &Failure{Code: ExitUsage, Message: fmt.Sprintf(format, args...)}
}

// Refusedf is a Failure of what a rule forbids.
func Refusedf(format string, args ...any) *Failure {
	return &Failure{Code: ExitRefused, Message: fmt.Sprintf(format, args...)}
}

// Different ends a command whose output said already what differs.
func Different() *Failure { return &Failure{Code: ExitDifferent} }

// codeOf maps the service's error codes to exit codes.
func codeOf(code string) int {
	switch code {
	case api.CodeInvalid, api.CodeRefused, api.CodeConflict, api.CodeTooLarge, api.CodePrecondition, api.CodeLimit, api.CodeNoRoom:
		return ExitRefused
	case api.CodeNotFound:
		return ExitDifferent
	case api.CodeUnavailable:
		return ExitUnreachable
	default:
		return ExitPartial
	}
}

// FailureOf makes a Failure of any error that a command returns.
func FailureOf(err error) *Failure {
	if own, ok := errors.AsType[*Failure](err); ok {
		return own
	}
	if refused, ok := errors.AsType[*api.Failure](err); ok {
		return &Failure{Code: codeOf(refused.Code), Message: refused.Message, Faults: refused.Faults, Next: refused.Next}
	}
	if faults, ok := errors.AsType[strict.Faults](err); ok {
		return &Failure{Code: ExitRefused, Message: countFaults(faults), Faults: faults}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return &Failure{Code: ExitTimedOut, Message: err.Error()}
	}
	return &Failure{Code: ExitPartial, Message: err.Error()}
}

// IsNotFound says that the hub holds no such object.
func IsNotFound(err error) bool {
	f, ok := errors.AsType[*api.Failure](err)
	return ok && f.Code == api.CodeNotFound
}

// IsBeyond tells an error that says that the hub would take too long to answer, and what it says.
func IsBeyond(err error) (why string, is bool) {
	f, ok := errors.AsType[*api.Failure](err)
	if !ok || f.Code != api.CodeLimit {
		return "", false
	}
	return f.Message, true
}

func countFaults(f strict.Faults) string {
	if len(f) == 1 {
		return "refused: 1 fault"
	}
	return fmt.Sprintf("refused: %d faults", len(f))
}
