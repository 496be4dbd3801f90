package records

import (
	"encoding/json"

	"flotilla/bus/store"
	"flotilla/core/api"
)

// Stored is the spec of an object. Of a record that cannot be decoded it is what can be made out, with
// the record's revision, so that an apply or a deletion puts it right; its uid is empty when nothing
// tells it.
func (r *Tables) Stored(ref api.ObjectRef) (spec api.Spec, revision uint64, found bool) {
	table, name := r.Place(ref)
	spec, revision, found, err := table.Find(name)
	if err != nil {
		return r.salvage(ref, table, name), revision, true
	}
	return spec, revision, found
}

func (r *Tables) salvage(ref api.ObjectRef, table *store.Records[api.Spec], name string) api.Spec {
	raw, _, _ := r.State.Raw(table.Key(name))
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(raw, &fields) // without fields all is as in a new one
	spec := api.Spec{
		Header: api.NewHeader(api.KindSpec), Object: ref, UID: salvaged[string](fields["uid"]),
		Generation: max(1, salvaged[int64](fields["generation"])), Request: salvaged[string](fields["request"]),
		Action: salvaged[string](fields["action"]), Set: salvaged[string](fields["set"]),
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
func (r *Tables) uidOf(table *store.Records[api.Spec], name string) string {
	switch table {
	case r.Members:
		record, _, _ := r.Seen.Get(name)
		return record.UID
	case r.Specs[api.KindNodePool]:
		record, _, _ := r.Pools.Get(name)
		return record.UID
	case r.Placements:
		return r.uidOfPlacement(name)
	}
	return ""
}

func (r *Tables) uidOfPlacement(name string) string {
	if schedule, _, found := r.Schedules.Get(name); found {
		return schedule.UID
	}
	release, _, _ := r.Releases.Get(name)
	for i := range release.Entries {
		if !release.Entries[i].Withdrawn {
			return release.Entries[i].UID
		}
	}
	return ""
}

// Readable says that the rooms can read a placement, member or node pool.
func Readable(stored *api.Spec) bool {
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

// BareBody is a body that everyone can read, for an object that is only there to be deleted. Nobody can
// tell what was to become of what it placed, so that stays.
func BareBody(stored *api.Spec) json.RawMessage {
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

// NotedBare tells who deletes an unreadable object what becomes of what came of it.
func NotedBare(kind string) string {
	if kind == api.KindNodePool {
		return "it could not be read: its nodes are drained and deleted all the same"
	}
	return "it could not be read: what it placed stays on the members; to have it deleted there, apply it again before you delete it"
}
