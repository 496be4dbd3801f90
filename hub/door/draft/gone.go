package draft

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/hub/door/records"
)

// epitaph is the note that the record of a deleted object leaves behind: which request deleted it, and
// what that was answered, for a client that repeats it to a later leader.
type epitaph struct {
	Request string          `json:"request"`
	Result  api.ApplyResult `json:"result"`
	// Earlier are the requests before it, as api.Spec has them.
	Earlier []api.EarlierRequest `json:"earlier,omitempty"`
}

// past is what the record of an object that is made again is to remember.
func (e *epitaph) past(at metav1.Time) []api.EarlierRequest {
	if e.Request == "" {
		return nil
	}
	r := &e.Result
	return append(e.Earlier, api.EarlierRequest{
		Request: e.Request, Action: r.Action, UID: r.UID, Generation: r.Generation, ResourceVersion: r.ResourceVersion, At: at,
	})
}

// text is the note, with as many earlier requests as find room.
func (e epitaph) text() string {
	for ; ; e.Earlier = e.Earlier[(len(e.Earlier)+1)/2:] {
		note, err := json.Marshal(e)
		switch {
		case err == nil && len(note) <= maxEpitaph:
			return string(note)
		case len(e.Earlier) == 0:
			return ""
		}
	}
}

// epitaphOf is what the deleted record of an object left behind; empty when there is none.
func epitaphOf(r *records.Tables, ref api.ObjectRef) *epitaph {
	table, name := r.Place(ref)
	left := &epitaph{}
	if json.Unmarshal([]byte(r.State.Gone(table.Key(name))), left) != nil {
		return &epitaph{}
	}
	return left
}

// noteDeletions adds to each removal of a spec what its request is answered.
func (f *Draft) noteDeletions() {
	for at, ref := range f.erased {
		for i := range f.Results {
			if f.Results[i].Object != ref {
				continue
			}
			stored, revision, _ := f.records.Stored(ref)
			f.ops[at].Note = epitaph{f.request, f.Results[i], f.past(&stored, revision)}.text()
		}
	}
}

// maxEpitaph is how long a note may be; results are a few hundred bytes.
const maxEpitaph = 2 << 10

// deleted is what the draft's request was answered when it deleted an object, nil when it did not.
func (f *Draft) deleted(ref api.ObjectRef) *api.ApplyResult {
	left := epitaphOf(f.records, ref)
	if f.request == "" || left.Request != f.request {
		return nil
	}
	return &left.Result
}
