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
	if len(s.Manifests) <= surelyFits || plainly(s) {
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

// Bytes of a snapshot as JSON: what a manifest takes beside its texts, and all but manifests.
const (
	bytesOfManifest = 128
	bytesOfHead     = 64 << 10
)

// plainly says that a snapshot can be stored even if nothing of it can be compressed.
func plainly(s *api.Snapshot) bool {
	room := bus.MaxValue - bytesOfHead - 80*len(s.Packs)
	for i := range s.Manifests {
		m := &s.Manifests[i]
		room -= bytesOfManifest + len(m.Digest)
		for _, text := range []string{m.APIVersion, m.Kind, m.Namespace, m.Name, m.Envelope} {
			room -= written(text)
		}
		if room < 0 {
			return false
		}
	}
	return true
}

// written is how many bytes a text takes in JSON at most.
func written(text string) (bytes int) {
	const escaped = 6
	for i := range len(text) {
		switch b := text[i]; {
		case 'a' <= b && b <= 'z', 'A' <= b && b <= 'Z', '-' <= b && b <= '9': // - . / and digits
			bytes++
		default:
			bytes += escaped
		}
	}
	return bytes
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
