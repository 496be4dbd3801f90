package draft

import (
	"flotilla/core/api"
	"flotilla/hub/door/records"
)

// noteDeletions adds to each removal of a spec what its request is answered.
func (f *Draft) noteDeletions() {
	for at, ref := range f.erased {
		for i := range f.Results {
			if f.Results[i].Object != ref {
				continue
			}
			stored, revision, _ := f.records.Stored(ref)
			f.ops[at].Note = records.Epitaph{Request: f.request, Result: f.Results[i], Earlier: f.past(&stored, revision)}.Text()
		}
	}
}

// deleted is what the draft's request was answered when it deleted an object, nil when it did not.
func (f *Draft) deleted(ref api.ObjectRef) *api.ApplyResult {
	left := f.records.Epitaph(ref)
	if f.request == "" || left.Request != f.request {
		return nil
	}
	return &left.Result
}
