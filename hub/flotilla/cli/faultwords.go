package cli

import (
	"strconv"
	"strings"

	"flotilla/core/api"
)

// What the hub says of documents that it refuses, whatever was asked for, and the words that replace it.
const (
	nothingApplied = "nothing was applied: "
	hubsNext       = "flotilla apply --dry-run=server -f FILE"
)

// describeFaults names the file and place of each document that the hub found fault with, and the
// command that puts right what it can. Only an apply has left something not applied.
func describeFaults(err error, documents []document, s *source, applying bool) error {
	f := failureOf(err)
	for i := range f.Faults {
		locate(&f.Faults[i], documents)
	}
	if !applying {
		f.Message = strings.Replace(f.Message, nothingApplied, "refused: ", 1)
	}
	if f.Next == hubsNext {
		f.Next = s.command("correct")
	}
	return f
}

// locate adds where a document comes from to its name; "document 3" is the third of the request.
func locate(fault *api.Fault, documents []document) {
	for i := range documents {
		d := &documents[i]
		at, numbered := strings.CutPrefix(fault.Object, "document ")
		switch place, err := strconv.Atoi(at); {
		case numbered && err == nil && place == i+1:
			fault.Object = strings.Trim(d.ref.Kind+"/"+d.ref.Name, "/") + " (" + d.origin + ")"
			return
		case d.names(fault.Object):
			fault.Object += " (" + d.origin + ")"
			return
		}
	}
}

// notChanged is what a change of one stored object says when the hub refuses it.
func notChanged(err error, next string) error {
	f := failureOf(err)
	f.Message = strings.Replace(f.Message, nothingApplied, "nothing was changed: ", 1)
	if f.Next == hubsNext {
		f.Next = next
	}
	return f
}
