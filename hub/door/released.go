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
		return !slices.ContainsFunc(r.Documents, func(text json.RawMessage) bool {
			var object unstructured.Unstructured
			return kjson.Unmarshal(text, &object.Object) != nil || !d.fewer(api.ObjectRef{
				APIVersion: object.GetAPIVersion(), Kind: object.GetKind(), Namespace: object.GetNamespace(), Name: object.GetName(),
			}, object.GetFinalizers())
		})
	case api.VerbPatch:
		var r api.PatchRequest
		var patch map[string]any
		if json.Unmarshal(body, &r) != nil || !r.Managed || kjson.Unmarshal(r.Patch, &patch) != nil {
			return false
		}
		left, says, err := unstructured.NestedFieldNoCopy(patch, "metadata", "finalizers")
		return err == nil && says && d.fewer(r.Object, (&unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"finalizers": left}}}).GetFinalizers())
	}
	return false
}

// fewer says that an object is being deleted, and that finalizers are fewer of those that it has.
func (d *Door) fewer(object api.ObjectRef, finalizers []string) bool {
	stored, _, found := d.records.Stored(object)
	added := slices.ContainsFunc(finalizers, func(name string) bool { return !slices.Contains(stored.Finalizers, name) })
	return found && stored.Deleted != nil && len(finalizers) < len(stored.Finalizers) && !added
}
