package door

import (
	"encoding/json"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus"
	"flotilla/core/api"
	"flotilla/core/health"
)

// stored is the spec of an object. Of a record that cannot be decoded it is what can be made out, with
// the record's revision, so that an apply or a deletion puts it right; its uid is empty when nothing
// tells it.
func (r *records) stored(ref api.ObjectRef) (spec api.Spec, revision uint64, found bool) {
	table, name := r.place(ref)
	spec, revision, found, err := table.Find(name)
	if err != nil {
		return r.salvage(ref, table, name), revision, true
	}
	return spec, revision, found
}

func (r *records) salvage(ref api.ObjectRef, table *bus.Records[api.Spec], name string) api.Spec {
	raw, _, _ := r.state.Raw(table.Key(name))
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(raw, &fields) // without fields all is as in a new one
	spec := api.Spec{
		Header: api.NewHeader(api.KindSpec), Object: ref, UID: salvaged[string](fields["uid"]),
		Generation: max(1, salvaged[int64](fields["generation"])), Request: salvaged[string](fields["request"]),
		Action: salvaged[string](fields["action"]),
	}
	if object := salvaged[api.ObjectRef](fields["object"]); object.Kind == ref.Kind && object.Name == ref.Name {
		spec.Object = object
	}
	if spec.UID == "" {
		spec.UID = r.uidOf(table, name)
	}
	return spec
}

// salvaged is a value, or none when it cannot be read.
func salvaged[T any](raw json.RawMessage) T {
	var value, none T
	if json.Unmarshal(raw, &value) != nil {
		return none
	}
	return value
}

// uidOf is the uid that other records give an object: entries of a release under another one would be
// taken for those of an earlier object and withdrawn.
func (r *records) uidOf(table *bus.Records[api.Spec], name string) string {
	switch table {
	case r.members:
		record, _, _ := r.seen.Get(name)
		return record.UID
	case r.specs[api.KindNodePool]:
		record, _, _ := r.pools.Get(name)
		return record.UID
	case r.placements:
		return r.uidOfPlacement(name)
	}
	return ""
}

func (r *records) uidOfPlacement(name string) string {
	if schedule, _, found := r.schedules.Get(name); found {
		return schedule.UID
	}
	release, _, _ := r.releases.Get(name)
	for i := range release.Entries {
		if !release.Entries[i].Withdrawn {
			return release.Entries[i].UID
		}
	}
	return ""
}

// readable says that the rooms can read a placement, member or node pool.
func readable(stored *api.Spec) bool {
	var err error
	switch stored.Object.Kind {
	case api.KindMemberCluster:
		_, err = api.SpecOf[api.MemberCluster](stored)
	case api.KindNodePool:
		_, err = api.SpecOf[api.NodePool](stored)
	default:
		_, err = api.SpecOf[api.Placement](stored)
	}
	return err == nil
}

// bareBody is a body that everyone can read, for an object that is only there to be deleted. Nobody can
// tell what was to become of what it placed, so that stays.
func bareBody(stored *api.Spec) json.RawMessage {
	spec := map[string]any{}
	if stored.Object.Kind != api.KindMemberCluster && stored.Object.Kind != api.KindNodePool {
		spec["strategy"] = map[string]any{"deleteStrategy": map[string]any{"propagationPolicy": api.PropagationAbandon}}
	}
	metadata := map[string]any{"name": stored.Object.Name}
	if stored.Object.Namespace != "" {
		metadata["namespace"] = stored.Object.Namespace
	}
	body, _ := json.Marshal(map[string]any{ // maps and strings always encode
		"apiVersion": stored.Object.APIVersion, "kind": stored.Object.Kind, "metadata": metadata, "spec": spec,
	})
	return body
}

// notedBare tells who deletes an unreadable object what becomes of what came of it.
func notedBare(kind string) string {
	if kind == api.KindNodePool {
		return "it could not be read: its nodes are drained and deleted all the same"
	}
	return "it could not be read: what it placed stays on the members; to have it deleted there, apply it again before you delete it"
}

// complaints are told once for each revision of a record.
type complaints struct {
	mu   sync.Mutex
	told map[string]uint64 // revision by object
}

func (c *complaints) first(object string, revision uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.told == nil {
		c.told = map[string]uint64{}
	}
	if c.told[object] == revision {
		return false
	}
	c.told[object] = revision
	return true
}

// complain tells of a stored object that cannot be read and is left out.
func (d *Door) complain(object string, revision uint64, err error) {
	if !d.complaints.first(object, revision) {
		return
	}
	d.options.Log.Error().Err(err).Str("object", object).Uint64("revision", revision).Msg("what is stored cannot be read")
	d.store.Audit.Record(api.Audit{
		Object: object, Type: "Warning", Reason: health.ReasonUnreadable, By: "door",
		Message: err.Error() + "; nothing is decided about it: apply or delete it",
	})
}

// renderUnreadable shows a placement of which only the head can be read.
func (d *Door) renderUnreadable(entry *bus.Entry[api.Spec], err error) (json.RawMessage, error) {
	bare := map[string]any{"apiVersion": entry.Value.Object.APIVersion, "kind": entry.Value.Object.Kind, "metadata": map[string]any{
		"name": entry.Value.Object.Name, "namespace": entry.Value.Object.Namespace,
	}}
	if entry.Value.Object.Namespace == "" {
		delete(bare["metadata"].(map[string]any), "namespace")
	}
	body, encoding := json.Marshal(bare)
	if encoding != nil {
		return nil, fmt.Errorf("encoding %s: %w", entry.Value.Object, encoding)
	}
	return d.complete(&entry.Value, entry.Revision, body, placementStatus{PlacementStatus: api.PlacementStatus{
		Conditions: []metav1.Condition{{
			Type: "Readable", Status: metav1.ConditionFalse, Reason: health.ReasonUnreadable, Message: err.Error() + ": apply or delete it",
			ObservedGeneration: entry.Value.Generation, LastTransitionTime: entry.Value.Created,
		}},
	}})
}

// unreadableFailure is the answer about an object whose record cannot be decoded.
func unreadableFailure(ref api.ObjectRef, err error) *api.Failure {
	return &api.Failure{
		Code: api.CodeInternal, Message: fmt.Sprintf("%s is stored and cannot be read: %s; apply it again or delete it", ref, err),
		Next: "flotilla events " + typed(ref),
	}
}
