package door

import (
	"encoding/json"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kjson "k8s.io/apimachinery/pkg/util/json"

	"flotilla/bus/disk"
	"flotilla/core/api"
	"flotilla/hub/door/draft"
)

// adds says that a request may store more than it removes. What takes finalizers off is looked at where that matters alone.
func (d *Door) adds(room disk.Room, by api.Caller, verb string, body []byte) bool {
	free := !room.Short() && d.busy(by, true) == nil
	return needsRoom[verb] && (free || !d.releases(verb, body))
}

// releases says that a request does nothing but take finalizers off objects that are being deleted: what else it would change of them is refused.
// It goes on without room, as a deletion does, since these objects hold room until it was done; each takes fewer finalizers than there are.
func (d *Door) releases(verb string, body []byte) bool {
	switch verb {
	case api.VerbApply:
		var r api.ApplyRequest
		if json.Unmarshal(body, &r) != nil || !r.Managed || r.Set != "" || r.Prune || len(r.Documents) == 0 || len(r.Documents) > draft.MaxDocuments {
			return false
		}
		return !slices.ContainsFunc(r.Documents, func(text json.RawMessage) bool { return !d.lets(text) })
	case api.VerbPatch:
		var r api.PatchRequest
		if json.Unmarshal(body, &r) != nil || !r.Managed || !finalizersAlone(r.Patch) {
			return false
		}
		var patch unstructured.Unstructured
		return kjson.Unmarshal(r.Patch, &patch.Object) == nil && d.fewer(r.Object, patch.GetFinalizers()) != nil
	}
	return false
}

// mostKept is by how much what clients keep on an object may grow while they take a finalizer off it.
const mostKept = 4 << 10

// lets says that a document is one of an object that is being deleted, with fewer finalizers. That nothing else of it changes the draft
// sees to.
func (d *Door) lets(text json.RawMessage) bool {
	var object unstructured.Unstructured
	var document heading
	if kjson.Unmarshal(text, &object.Object) != nil || json.Unmarshal(text, &document) != nil {
		return false
	}
	stored := d.fewer(api.ObjectRef{
		APIVersion: object.GetAPIVersion(), Kind: object.GetKind(), Namespace: object.GetNamespace(), Name: object.GetName(),
	}, object.GetFinalizers())
	return stored != nil && (len(stored.Body) == 0 || len(document.Metadata) <= len(stored.Body)+len(stored.Managed)+mostKept)
}

// fewer is what is stored of an object that is being deleted and has more finalizers than those, and all of those; nil where it is none.
func (d *Door) fewer(object api.ObjectRef, finalizers []string) *api.Spec {
	stored, _, found := d.records.Stored(object)
	added := slices.ContainsFunc(finalizers, func(name string) bool { return !slices.Contains(stored.Finalizers, name) })
	if !found || stored.Deleted == nil || len(finalizers) >= len(stored.Finalizers) || added {
		return nil
	}
	return &stored
}

// finalizersAlone says that a merge patch is about nothing but finalizers, and which object it is of.
func finalizersAlone(patch json.RawMessage) bool {
	var fields map[string]map[string]json.RawMessage
	if json.Unmarshal(patch, &fields) != nil || len(fields) != 1 {
		return false
	}
	for field := range fields["metadata"] {
		switch field {
		case "finalizers", "resourceVersion", "uid":
		default:
			return false
		}
	}
	return fields["metadata"]["finalizers"] != nil
}
