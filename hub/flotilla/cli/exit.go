package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"flotilla/core/api"
)

// Exit codes of every command.
const (
	ExitDone        = 0   // done, nothing to change
	ExitDifferent   = 1   // would change, not converged, or not found
	ExitUsage       = 2   // the command line cannot be understood
	ExitRefused     = 3   // a rule forbids it; nothing was changed
	ExitPartial     = 4   // some of it failed, or the hub failed while doing it
	ExitUnreachable = 5   // no hub answered
	ExitTimedOut    = 124 // --timeout passed
)

// Failure ends a command with a code, and with what the user needs to go on.
type Failure struct {
	Code    int
	Message string // empty: everything was said already
	Faults  api.Faults
	Next    string // a command to type
}

// Error returns the message and every fault, one a line.
func (f *Failure) Error() string {
	if len(f.Faults) == 0 {
		return f.Message
	}
	return strings.TrimSpace(f.Message + "\n" + f.Faults.Error())
}

func usagef(format string, args ...any) *Failure {
	return &Failure{Code: ExitUsage, Message: fmt.Sprintf(format, args...)}
}

func refusedf(format string, args ...any) *Failure {
	return &Failure{Code: ExitRefused, Message: fmt.Sprintf(format, args...)}
}

func silent(code int) *Failure { return &Failure{Code: code} }

// codeOf maps the service's error codes to exit codes.
func codeOf(code string) int {
	switch code {
	case api.CodeInvalid, api.CodeRefused, api.CodeConflict, api.CodeTooLarge:
		return ExitRefused
	case api.CodeNotFound:
		return ExitDifferent
	case api.CodeUnavailable:
		return ExitUnreachable
	default:
		return ExitPartial
	}
}

// failureOf makes a Failure of any error that a command returns.
func failureOf(err error) *Failure {
	var own *Failure
	if errors.As(err, &own) {
		return own
	}
	var refused *api.Failure
	if errors.As(err, &refused) {
		return &Failure{Code: codeOf(refused.Code), Message: refused.Message, Faults: refused.Faults, Next: refused.Next}
	}
	var faults api.Faults
	if errors.As(err, &faults) {
		return &Failure{Code: ExitRefused, Message: countFaults(faults), Faults: faults}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return &Failure{Code: ExitTimedOut, Message: err.Error()}
	}
	return &Failure{Code: ExitPartial, Message: err.Error()}
}

func isNotFound(err error) bool {
	var f *api.Failure
	return errors.As(err, &f) && f.Code == api.CodeNotFound
}

func countFaults(f api.Faults) string {
	if len(f) == 1 {
		return "refused: 1 fault"
	}
	return fmt.Sprintf("refused: %d faults", len(f))
}

// print writes the failure the way a person reads it: message, faults with corrected forms, next.
func (f *Failure) print(w io.Writer) {
	if f.Message != "" {
		fmt.Fprintf(w, "error: %s\n", f.Message)
	}
	for i := range f.Faults {
		printFault(w, &f.Faults[i])
	}
	if f.Next != "" {
		fmt.Fprintf(w, "next: %s\n", f.Next)
	}
}

func printFault(w io.Writer, f *api.Fault) {
	at := f.Path
	if f.Object != "" {
		at = strings.TrimSuffix(f.Object+": "+f.Path, ": ")
	}
	fmt.Fprintf(w, "  %s\n    found     %s\n    expected  %s\n", at, f.Found, f.Expected)
	if f.Fix == "" {
		return
	}
	fmt.Fprintln(w, "    write")
	for line := range strings.SplitSeq(strings.TrimRight(f.Fix, "\n"), "\n") {
		fmt.Fprintf(w, "      %s\n", line)
	}
}
