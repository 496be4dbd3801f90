package door

import (
	"encoding/json"
	"sync"

	"flotilla/bus/disk"
	"flotilla/bus/watch"
	"flotilla/core/api"
	"flotilla/hub/door/draft"
	"flotilla/subjects"
)

// memory is the room in memory for records, once they take so many bytes more.
func (d *Door) memory(more int64) disk.Room {
	if d.options.Memory == nil {
		return disk.Room{}
	}
	return d.options.Memory(more)
}

// mostAdded is what the records that a request writes take beside what it says of them.
const mostAdded = draft.MaxDocuments << 10

// weight is how much more memory records would take for what a request has stored. It is worked out once, and only where there may be
// no room for it.
func (d *Door) weight(verb string, body []byte) func() int64 {
	if verb != api.VerbApply && verb != api.VerbPatch {
		return func() int64 { return 0 }
	}
	most := sync.OnceValue(func() int64 { return mostAdded + weighSpec(body) })
	exactly := sync.OnceValue(func() int64 { return d.takes(verb, body) })
	return func() int64 {
		if !d.memory(most()).Short() {
			return 0
		}
		return exactly()
	}
}

func weighSpec(text []byte) int64 { return watch.Weigh(subjects.PlacementSpecs.Prefix(), text) }

// heading is what of a document says which object it is of, and what its record holds of content.
type heading struct {
	APIVersion string          `json:"apiVersion"`
	Kind       string          `json:"kind"`
	Metadata   json.RawMessage `json:"metadata"`
}

// of is the object of a document.
func (n *heading) of() (ref api.ObjectRef, err error) {
	var metadata struct {
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
	}
	err = json.Unmarshal(n.Metadata, &metadata)
	return api.ObjectRef{APIVersion: n.APIVersion, Kind: n.Kind, Namespace: metadata.Namespace, Name: metadata.Name}, err
}

// takes is how much more memory records would take for a request. What cannot be read is refused by whoever reads it.
func (d *Door) takes(verb string, body []byte) (sum int64) {
	var request struct {
		Object    api.ObjectRef     `json:"object"`
		Patch     json.RawMessage   `json:"patch"`
		Documents []json.RawMessage `json:"documents"`
	}
	if json.Unmarshal(body, &request) != nil {
		return 0
	}
	if table, _ := d.records.Place(request.Object); verb == api.VerbPatch && table != d.records.Objects {
		return weighSpec(request.Patch)
	}
	for _, text := range request.Documents {
		var document heading
		if json.Unmarshal(text, &document) != nil {
			continue
		}
		ref, err := document.of()
		if err != nil {
			continue
		}
		table, name := d.records.Place(ref)
		if table == d.records.Objects {
			text = document.Metadata // the rest lies elsewhere
		}
		key := table.Key(name)
		sum += max(0, watch.Weigh(key, text)-d.store.State.Weights.Of(key))
	}
	return sum
}
