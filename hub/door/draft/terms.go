package draft

import (
	"fmt"
	"strings"

	"flotilla/core/api"
	"flotilla/core/strict"
)

// Terms are what a request asks of the objects that its documents are of.
type Terms struct {
	// Create refuses documents of objects that exist.
	Create bool
	// Exact takes each document for the whole object: what patches set is not kept.
	Exact bool
	// Managed takes from the documents what clients keep on objects for themselves; without, it stays as it is.
	Managed bool
	// Hidden keeps values of Secrets from whoever asks, see content.UnredactHidden.
	Hidden bool
	// Expect are what the documents were made from, one for each; nil: of whatever there is.
	Expect []api.Expected
}

// Check says what is wrong with the terms of so many documents, nil when nothing is.
func (t *Terms) Check(documents int) *api.Failure {
	wrong := ""
	switch n := len(t.Expect); {
	case n > 0 && n != documents:
		wrong = fmt.Sprintf("expect: found %d entries for %d documents, expected one for each, or none", n, documents)
	case n > 0 && t.Create:
		wrong = "expect: found entries beside create, expected one of them: what is created is made from nothing"
	default:
		return nil
	}
	return &api.Failure{Code: api.CodeInvalid, Message: wrong + ": nothing was applied", Next: "flotilla replace --help"}
}

// of puts the terms into documents, which are in the order of the request.
func (t *Terms) of(documents []Document) {
	for i := range documents {
		documents[i].create = t.Create
		if len(t.Expect) > 0 {
			documents[i].expect = &t.Expect[i]
		}
	}
}

// meets says whether what is stored of an object is what its document asks for; if not, the draft is rejected. A revision of 0
// is that of an object that does not exist.
func (f *Draft) meets(doc *Document, stored *api.Spec, revision uint64) bool {
	switch {
	case doc.create && revision > 0:
		f.taken = append(f.taken, taken(doc.Object, stored))
	case doc.expect == nil:
		return true
	case revision == 0:
		f.absent = append(f.absent, strict.Fault{
			Object: doc.Object.String(), Path: "metadata.name", Found: "the name of no object", Expected: "that of one that exists: `flotilla create` and `flotilla apply` make it",
		})
	default:
		return f.expected(stored, revision, *doc.expect)
	}
	return false
}

// taken is the fault of creating what exists.
func taken(object api.ObjectRef, stored *api.Spec) strict.Fault {
	fault := strict.Fault{
		Object: object.String(), Path: "metadata.name",
		Found: "the name of an object that exists already", Expected: "one that is free: `flotilla apply` changes what exists",
	}
	if stored.Deleted != nil {
		fault.Found += ", and is being deleted since " + stored.Deleted.UTC().Format("15:04:05Z")
		fault.Expected = "one that is free: wait until the object is gone"
	}
	return fault
}

// expected compares what is stored with what a request was made from; where that is another, the draft is rejected.
func (f *Draft) expected(stored *api.Spec, revision uint64, want api.Expected) bool {
	before := len(f.conflict)
	if want.UID != "" && want.UID != stored.UID {
		f.changed(stored.Object, "metadata.uid", want.UID, stored.UID)
	}
	if current := f.Version(revision); want.ResourceVersion != "" && want.ResourceVersion != current {
		f.changed(stored.Object, "metadata.resourceVersion", want.ResourceVersion, current)
	}
	return len(f.conflict) == before
}

// changed rejects a draft that was made from another object than there is.
func (f *Draft) changed(object api.ObjectRef, path, given, current string) {
	f.conflict = append(f.conflict, strict.Fault{
		Object: object.String(), Path: path, Found: given,
		Expected: current + ", which is current: read the object again, or leave the field out",
	})
}

// compareVersion is the optimistic lock of documents: a resourceVersion of this hub must still be current. Those of other
// systems say nothing here, and neither do those of objects with what clients keep, which are of all that is shown of them.
func (f *Draft) compareVersion(doc *Document, revision uint64) {
	given := doc.ResourceVersion
	if epoch, _, ours := strings.Cut(given, "."); !ours || epoch == "" || doc.managed != nil {
		return
	}
	if current := f.Version(revision); given != current {
		if revision == 0 {
			current = "no such object"
		}
		f.changed(doc.Object, "metadata.resourceVersion", given, current)
	}
}
