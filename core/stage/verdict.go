package stage

import (
	"fmt"
	"time"

	"flotilla/core/api"
	"flotilla/core/window"
)

// Verdict is what the work says of a member that a slot is offered to.
type Verdict struct {
	// State is Running (go), Pending (not yet), Skipped (nothing to do or never) or Failed.
	State   api.UpdateState
	Reason  string
	Message string
	// Next is when a Pending member should be looked at again; zero when no time is known.
	Next  time.Time
	Class window.Class
	// Begin writes down what is done to a member that goes; nil: nothing.
	Begin func(*api.MemberUpdateStatus)
}

// Wait is the verdict on a member that may not go yet.
func Wait(reason, format string, args ...any) *Verdict {
	return &Verdict{State: api.StatePending, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// Skip is the verdict on a member that has nothing to do, or never may.
func Skip(reason, format string, args ...any) *Verdict {
	return &Verdict{State: api.StateSkipped, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// Fail is the verdict on a member that counts as failed.
func Fail(reason, format string, args ...any) *Verdict {
	return &Verdict{State: api.StateFailed, Reason: reason, Message: fmt.Sprintf(format, args...)}
}
