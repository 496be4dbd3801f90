package session

import (
	"fmt"
	"io"
	"strings"

	"flotilla/core/strict"
)

// maxShown is how many faults people are shown; machines are given all of them.
const maxShown = 20

// Refusal is a Failure with faults as JSON (docs/json.md).
type Refusal struct {
	Error  string                   `json:"error"`
	Counts map[strict.FaultKind]int `json:"counts"`
	Faults strict.Faults            `json:"faults"`
	Next   string                   `json:"next,omitempty"`
}

// print writes the failure the way a person reads it: message, faults with corrected forms, next.
func (f *Failure) print(w io.Writer) {
	if f.Message != "" {
		Say(w, "error: %s\n", f.Message)
	}
	for i := range f.Faults[:min(len(f.Faults), maxShown)] {
		printFault(w, &f.Faults[i])
	}
	if more := len(f.Faults) - maxShown; more > 0 {
		Say(w, "  and %d more; in all %s\n", more, f.countKinds())
		if f.All != "" {
			Say(w, "  every one: %s -o json\n", f.All)
		}
	}
	if f.Next != "" {
		Say(w, "next: %s\n", f.Next)
	}
}

// printJSON writes the failure for machines, every fault of it.
func (f *Failure) printJSON(w io.Writer) error {
	return PrintJSON(w, Refusal{Error: f.Message, Counts: f.kinds(), Faults: f.Faults, Next: f.Next})
}

func (f *Failure) kinds() map[strict.FaultKind]int {
	counts := map[strict.FaultKind]int{}
	for i := range f.Faults {
		counts[f.Faults[i].Sort()]++
	}
	return counts
}

// faultWords say one and several faults of a kind.
var faultWords = map[strict.FaultKind][2]string{
	strict.FaultSyntax:    {"place that cannot be read", "places that cannot be read"},
	strict.FaultUnknown:   {"unknown field", "unknown fields"},
	strict.FaultDuplicate: {"duplicate", "duplicates"},
	strict.FaultType:      {"value of a wrong type", "values of a wrong type"},
	strict.FaultMissing:   {"missing field", "missing fields"},
	strict.FaultMisplaced: {"field that is not allowed", "fields that are not allowed"},
	strict.FaultValue:     {"wrong value", "wrong values"},
}

// countKinds is "20 unknown fields, 1 missing field".
func (f *Failure) countKinds() string {
	counts := f.kinds()
	var parts []string
	for _, kind := range strict.FaultKinds {
		if n := counts[kind]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, Plural(n, faultWords[kind][0], faultWords[kind][1])))
		}
	}
	return strings.Join(parts, ", ")
}

func printFault(w io.Writer, f *strict.Fault) {
	var at []string
	for _, part := range []string{f.Where(), f.Object, f.Path} {
		if part != "" {
			at = append(at, part)
		}
	}
	Say(w, "  %s\n    found     %s\n    expected  %s\n", strings.Join(at, ": "), f.Found, f.Expected)
	if f.Fix == "" {
		return
	}
	Say(w, "    write\n")
	for line := range strings.SplitSeq(strings.TrimRight(f.Fix, "\n"), "\n") {
		Say(w, "      %s\n", line)
	}
}
