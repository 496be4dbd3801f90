package strict

import (
	"fmt"
	"strings"
)

// FaultKind is what sort of thing is wrong with a document.
type FaultKind string

// The kinds of faults.
const (
	FaultSyntax    FaultKind = "Syntax"       // text that cannot be read at all
	FaultDuplicate FaultKind = "Duplicate"    // said twice
	FaultUnknown   FaultKind = "UnknownField" // a field that does not exist
	FaultType      FaultKind = "WrongType"    // a value of another shape
	FaultMissing   FaultKind = "Missing"      // a field that must be there
	FaultMisplaced FaultKind = "NotAllowed"   // a field that must not be there beside the others
	FaultValue     FaultKind = "WrongValue"   // a value that breaks a rule
)

// FaultKinds lists the kinds in the order in which they are counted.
var FaultKinds = []FaultKind{FaultSyntax, FaultUnknown, FaultDuplicate, FaultType, FaultMissing, FaultMisplaced, FaultValue}

// Fault is one thing wrong with a document a user wrote.
type Fault struct {
	// Kind is empty for a value that breaks a rule which only the hub knows; Sort fills that in.
	Kind FaultKind `json:"kind,omitempty"`
	// Object names the document, "ClusterResourcePlacement/web", or "document 3" when it has no name.
	Object string `json:"object,omitempty"`
	// Path is the field path inside the document, "spec.policy.numberOfClusters".
	Path string `json:"path"`
	// Found shows the offending value, "nothing" when a required field is absent.
	Found string `json:"found"`
	// Expected says what would be accepted.
	Expected string `json:"expected"`
	// Fix is the corrected form as YAML, when there is an obvious one.
	Fix string `json:"fix,omitempty"`
	// Document counts the documents of a request from 1; 0 when the fault is about none of them alone.
	Document int `json:"document,omitempty"`
	// File, Line and Column are where the field stands, from 1; only who has the files knows.
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
}

// Sort is the kind of the fault, a wrong value where nothing else was said.
func (f Fault) Sort() FaultKind {
	switch {
	case f.Kind != "":
		return f.Kind
	case f.Found == nothing:
		return FaultMissing
	}
	return FaultValue
}

// nothing is found where a field is absent.
const nothing = "nothing"

// String renders the fault on one line; the fix, which may be several lines, is left out.
func (f Fault) String() string {
	text := fmt.Sprintf("found %s, expected %s", f.Found, f.Expected)
	for _, at := range []string{f.Path, f.Object, f.Where()} {
		if at != "" {
			text = at + ": " + text
		}
	}
	return text
}

// Where is "web.yaml:14:5", as editors and terminals read it; less of it where less is known.
func (f Fault) Where() string {
	switch {
	case f.Line == 0:
		return f.File
	case f.Column == 0:
		return fmt.Sprintf("%s:%d", f.File, f.Line)
	}
	return fmt.Sprintf("%s:%d:%d", f.File, f.Line, f.Column)
}

// Covers reports whether a path is that of the fault or lies below it.
func (f Fault) Covers(path string) bool { return Within(path, f.Path) }

// Faults is every fault of one request. It is an error when it is not empty.
type Faults []Fault

// Error lists the faults, one a line.
func (f Faults) Error() string {
	lines := make([]string, len(f))
	for i := range f {
		lines[i] = f[i].String()
	}
	return strings.Join(lines, "\n")
}

// Err returns f as an error, or nil when there is no fault.
func (f Faults) Err() error {
	if len(f) == 0 {
		return nil
	}
	return f
}
