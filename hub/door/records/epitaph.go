package records

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
)

// maxEpitaph is how long a note may be; results are a few hundred bytes.
const maxEpitaph = 2 << 10

// Epitaph is the note that the record of a deleted object leaves behind: which request deleted it, and
// what that was answered, for a client that repeats it to a later leader.
type Epitaph struct {
	Request string          `json:"request"`
	Result  api.ApplyResult `json:"result"`
	// Earlier are the requests before it, as api.Spec has them.
	Earlier []api.EarlierRequest `json:"earlier,omitempty"`
}

// Past is what the record of an object that is made again is to remember.
func (e *Epitaph) Past(at metav1.Time) []api.EarlierRequest {
	if e.Request == "" {
		return nil
	}
	r := &e.Result
	return append(e.Earlier, api.EarlierRequest{
		Request: e.Request, Action: r.Action, UID: r.UID, Generation: r.Generation, ResourceVersion: r.ResourceVersion, At: at,
	})
}

// Text is the note, with as many earlier requests as find room.
func (e Epitaph) Text() string {
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

// Epitaph is what the deleted record of an object left behind; empty when there is none.
func (r *Tables) Epitaph(ref api.ObjectRef) *Epitaph {
	table, name := r.Place(ref)
	left := &Epitaph{}
	if json.Unmarshal([]byte(r.State.Gone(table.Key(name))), left) != nil {
		return &Epitaph{}
	}
	return left
}
