package door

import (
	"encoding/json"

	"flotilla/core/api"
)

// epitaph is the note that the record of a deleted object leaves behind: which request deleted it, and
// what that was answered, for a client that repeats it to a later leader.
type epitaph struct {
	Request string          `json:"request"`
	Result  api.ApplyResult `json:"result"`
}

// noteDeletions adds to each removal of a spec what its request is answered.
func (f *draft) noteDeletions() {
	if f.request == "" {
		return
	}
	for at, ref := range f.erased {
		for i := range f.results {
			if f.results[i].Object != ref {
				continue
			}
			if note, err := json.Marshal(epitaph{f.request, f.results[i]}); err == nil && len(note) <= maxEpitaph {
				f.ops[at].Note = string(note)
			}
		}
	}
}

// maxEpitaph is how long a note may be; results are a few hundred bytes.
const maxEpitaph = 2 << 10

// repeated is what a deletion was answered that came with the same request id before, nil when none did.
func (d *Door) repeated(ref api.ObjectRef, request string) *api.ApplyResult {
	table, name := d.records.place(ref)
	var left epitaph
	if json.Unmarshal([]byte(d.store.State.Gone(table.Key(name))), &left) != nil || request == "" || left.Request != request {
		return nil
	}
	return &left.Result
}
