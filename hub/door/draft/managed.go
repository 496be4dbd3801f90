package draft

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	kjson "k8s.io/apimachinery/pkg/util/json"

	"flotilla/core/api"
	"flotilla/core/content"
	"flotilla/core/strict"
	"flotilla/core/validate"
	"flotilla/hub/door/records"
)

// parted is a document without what clients keep on its object, and that.
func parted(raw json.RawMessage) (json.RawMessage, *content.Managed, error) {
	var document map[string]any
	if len(raw) > validate.MaxObjectBytes || kjson.Unmarshal(raw, &document) != nil {
		return raw, &content.Managed{}, nil // reading it tells of the fault
	}
	managed := content.TakeManaged(document)
	bare, err := json.Marshal(document)
	if err != nil {
		return nil, nil, fmt.Errorf("encoding: %w", err)
	}
	return bare, managed, nil
}

// whole is the stored body of an object, with what clients keep on it.
func (d *Desk) whole(ctx context.Context, stored *api.Spec) (json.RawMessage, error) {
	body, err := d.BodyOf(ctx, stored)
	if err != nil {
		return nil, err
	}
	managed, err := records.Managed(ctx, d.store.Content, stored)
	if err != nil {
		return nil, err
	}
	var tree map[string]any
	if err := kjson.Unmarshal(body, &tree); err != nil {
		return nil, fmt.Errorf("decoding %s: %w", stored.Object, err)
	}
	managed.Put(tree)
	return json.Marshal(tree)
}

// keepManaged puts what clients keep on an object into the spec that would be stored, or, where it may hold values of Secrets,
// beside its body: that of the document, or what is stored where documents do not say it.
func (f *Draft) keepManaged(doc *Document, next, stored *api.Spec) error {
	if doc.managed == nil {
		next.Managed, next.SealedManaged, next.Finalizers = stored.Managed, stored.SealedManaged, stored.Finalizers
		return nil
	}
	if next.Finalizers = doc.managed.Finalizers; doc.managed.Metadata == nil {
		return nil
	}
	text, err := json.Marshal(doc.managed.Metadata)
	if err != nil {
		return fmt.Errorf("encoding %s: %w", doc.Object, err)
	}
	if !doc.IsContent() && !isOverride(doc.Object.Kind) {
		next.Managed = text
		return nil
	}
	next.SealedManaged = f.desk.store.Keys.Digest(text)
	f.bodies[next.SealedManaged] = text
	return nil
}

// sameManaged says that clients keep the same on an object.
func sameManaged(a, b *api.Spec) bool {
	return string(a.Managed) == string(b.Managed) && a.SealedManaged == b.SealedManaged && slices.Equal(a.Finalizers, b.Finalizers)
}

// remove adds the removal of an object that nobody has to confirm. One with finalizers is marked, and stays until they are
// taken away.
func (f *Draft) remove(stored *api.Spec, revision uint64) {
	if !f.once(stored.Object) || f.full() { // its namespace took it along, or a later part does
		return
	}
	if len(stored.Finalizers) == 0 {
		f.erase(stored.Object, revision)
		f.audit(records.EventName(stored.Object), "Deleted", stored.Object.String())
		return
	}
	if stored.Deleted != nil {
		return
	}
	next := *stored
	next.Deleted, next.Request, next.Action, next.Earlier = &f.now, f.request, api.ActionDeleting, f.past(stored, revision)
	f.write(next, revision, "Deleting")
}

// removing is what a deletion of an object that nobody has to confirm is answered.
func removing(stored *api.Spec) string {
	if len(stored.Finalizers) > 0 {
		return api.ActionDeleting
	}
	return api.ActionDeleted
}

// release takes finalizers off an object that is being deleted, which goes with the last. Nothing else of it may change.
func (f *Draft) release(doc *Document, stored, next *api.Spec, revision uint64, result api.ApplyResult) error {
	added := slices.ContainsFunc(next.Finalizers, func(name string) bool { return !slices.Contains(stored.Finalizers, name) })
	if alike, err := alikeButManaged(stored, next); err != nil || !alike || added {
		f.refuseDeleting(stored)
		f.Results = append(f.Results, result)
		return err
	}
	if sameManaged(stored, next) {
		result.Action = api.ActionUnchanged
		f.Results = append(f.Results, f.repeated(result, stored, revision))
		return nil
	}
	left := *stored
	left.Managed, left.SealedManaged, left.Finalizers = next.Managed, next.SealedManaged, next.Finalizers
	if len(left.Finalizers) == 0 && !f.confirmed(stored.Object) {
		result.Action, result.UID, result.Generation, result.ResourceVersion = api.ActionDeleted, stored.UID, stored.Generation, f.Version(revision)
		f.Results = append(f.Results, result)
		if doc.IsContent() {
			f.deleteContent(&left, revision)
			return nil
		}
		return f.deleteNamed(&left, revision)
	}
	left.Request, left.Action, left.Earlier = f.request, result.Action, f.past(stored, revision)
	result.UID, result.Generation = left.UID, left.Generation
	f.Results = append(f.Results, result)
	f.write(left, revision, "Configured")
	return nil
}

// confirmed says that members, or nodes, have to confirm the deletion of an object.
func (f *Draft) confirmed(object api.ObjectRef) bool {
	table, _ := f.records.Place(object)
	return table == f.records.Placements || table == f.records.Members || table == f.records.Specs[api.KindNodePool]
}

// alikeButManaged says that storing next would change nothing but what clients keep on the object.
func alikeButManaged(stored, next *api.Spec) (bool, error) {
	if stored.Digest != next.Digest || stored.Set != next.Set {
		return false, nil
	}
	if len(stored.Body) == 0 && len(next.Body) == 0 {
		return true, nil
	}
	is, err := withoutServerSet(stored.Body)
	if err != nil {
		return false, err
	}
	would, err := withoutServerSet(next.Body)
	return string(is) == string(would), err
}

// refuseDeleting refuses a change of an object that is being deleted.
func (f *Draft) refuseDeleting(stored *api.Spec) {
	fault := strict.Fault{
		Object: stored.Object.String(), Path: "metadata.deletionTimestamp",
		Found:    "an object that is being deleted since " + stored.Deleted.UTC().Format("15:04:05Z"),
		Expected: "one that is gone or stays",
	}
	if len(stored.Finalizers) > 0 {
		fault.Expected += ": it goes once nothing but its finalizers is taken away: " + strings.Join(stored.Finalizers, ", ")
	}
	f.conflict = append(f.conflict, fault)
}
