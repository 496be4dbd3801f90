package api

import (
	"fmt"
	"strings"
)

// Fault is one thing wrong with a document a user wrote.
type Fault struct {
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
}

// String renders the fault on one line; the fix, which may be several lines, is left out.
func (f Fault) String() string {
	at := f.Path
	if f.Object != "" {
		at = f.Object + ": " + f.Path
	}
	return fmt.Sprintf("%s: found %s, expected %s", at, f.Found, f.Expected)
}

// Covers reports whether a path is that of the fault or lies below it.
func (f Fault) Covers(path string) bool { return within(path, f.Path) }

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
