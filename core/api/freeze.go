package api

import (
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Verbs of freezes.
const (
	VerbFreeze   = "freeze"
	VerbUnfreeze = "unfreeze"
)

// The scopes of freezes that are of no single member: what of the fleet stays as it is.
const (
	FreezeFleet      = "fleet" // all of it
	FreezePlacements = "placements"
	FreezeRuns       = "runs"
	FreezeNodes      = "nodes"
	freezeMember     = "member."
)

// FreezeOf is the scope of a freeze of one member.
func FreezeOf(member string) string { return freezeMember + member }

// Freeze is the record freeze.<scope>, written by the door alone: somebody froze a part of the fleet, and, once Ended is
// set, somebody let it go on.
type Freeze struct {
	Header
	Scope   string       `json:"scope"`
	By      string       `json:"by"`
	Since   metav1.Time  `json:"since"`
	Reason  string       `json:"reason,omitempty"`
	Ended   *metav1.Time `json:"ended,omitempty"`
	EndedBy string       `json:"endedBy,omitempty"`
}

// Member is the one that is frozen alone; empty where it is more than that.
func (f *Freeze) Member() string {
	member, _ := strings.CutPrefix(f.Scope, freezeMember)
	if member == f.Scope {
		return ""
	}
	return member
}

// What is what is frozen, as people say it: "the fleet", "placements", "member berlin".
func (f *Freeze) What() string {
	switch member := f.Member(); {
	case member != "":
		return "member " + member
	case f.Scope == FreezeFleet:
		return "the fleet"
	}
	return f.Scope
}

// String is "placements frozen by anna since 2026-11-20T13:00:00Z: the shop has its sale".
func (f *Freeze) String() string {
	text := f.What() + " frozen by " + f.By
	if !f.Since.IsZero() {
		text += " since " + f.Since.UTC().Format(time.RFC3339)
	}
	if f.Reason != "" {
		text += ": " + f.Reason
	}
	return text
}

// Unfreeze is the command that ends a freeze.
func (f *Freeze) Unfreeze() string {
	switch member := f.Member(); {
	case member != "":
		return "flotilla unfreeze member " + member
	case f.Scope == FreezeFleet:
		return "flotilla unfreeze"
	}
	return "flotilla unfreeze " + f.Scope
}

// FreezeRequest asks to freeze a scope, or, as VerbUnfreeze, to end that.
type FreezeRequest struct {
	Asked
	// Request is a client-made id; the hub answers a repeated one as it did first.
	Request string `json:"request"`
	Scope   string `json:"scope"`
	Reason  string `json:"reason,omitempty"`
	// ResourceVersion refuses the request where somebody else froze or unfroze the scope since it was read.
	ResourceVersion string `json:"resourceVersion,omitempty"`
	DryRun          bool   `json:"dryRun,omitempty"`
}

// What became of a freeze, in the answer to a FreezeRequest.
const (
	ActionFrozen   = "frozen"
	ActionUnfrozen = "unfrozen"
)

// FreezeResponse says what was done; ActionUnchanged is nothing.
type FreezeResponse struct {
	Action string `json:"action"`
	Freeze Freeze `json:"freeze"`
	// Others are the freezes that are in force besides.
	Others []Freeze `json:"others,omitempty"`
	// ResourceVersion is what it was decided on, in the answer to a dry run.
	ResourceVersion string `json:"resourceVersion,omitempty"`
}
