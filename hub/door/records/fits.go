package records

import (
	"encoding/json"
	"errors"
	"fmt"

	"flotilla/bus"
	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/subjects"
)

// surelyFits is of how many objects a snapshot can be stored, whatever their names are.
const surelyFits = 500

// Fitting is a snapshot that can be stored: one of too many objects holds none of them, and says so.
func (r *Tables) Fitting(s *api.Snapshot) *api.Snapshot {
	if len(s.Manifests) <= surelyFits {
		return s
	}
	err := store.Check(r.Snapshots.Put(subjects.SnapshotName(s.Placement, max(1, s.Index)), s, 0))
	if !errors.Is(err, bus.ErrTooLarge) {
		return s
	}
	none := *s
	none.Manifests, none.Work, none.Packs, none.Undo = []api.Manifest{}, "", nil, nil
	none.Error = fmt.Sprintf("it selects %d objects, whose names take more than a snapshot may: expected less than %s, compressed; select them with several placements",
		len(s.Manifests), api.Size(bus.MaxValue))
	return &none
}

// SpecIn is the spec in the body of an object, nil where there is none.
func SpecIn(body json.RawMessage) json.RawMessage {
	var object struct {
		Spec json.RawMessage `json:"spec"`
	}
	if json.Unmarshal(body, &object) != nil {
		return nil
	}
	return object.Spec
}
