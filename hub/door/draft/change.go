package draft

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"

	"flotilla/core/api"
	"flotilla/core/validate"
)

// apply compares a document with what is stored and adds the difference to the draft. Exactly one
// result is added.
func (f *Draft) apply(doc *Document) error {
	table, name := f.records.Place(doc.Object)
	stored, revision, found := f.storedOf(doc)
	if f.answered(doc, &stored, revision, found) {
		return nil
	}
	result := api.ApplyResult{Object: doc.Object, Notes: doc.notes, Action: actionOf(found)}
	if table == f.records.Placements {
		f.named[name] = struct{}{}
	}
	if !f.meets(doc, &stored, revision) {
		f.Results = append(f.Results, result)
		return nil
	}
	if stored.Deleted != nil && doc.managed == nil {
		f.refuseDeleting(&stored)
	}
	f.compareVersion(doc, revision)
	next, err := f.next(doc, &stored, found)
	if err != nil {
		return err
	}
	result.Notes = doc.notes // looking at the document has added to them
	if stored.Deleted != nil && doc.managed != nil {
		return f.release(doc, &stored, &next, revision, result)
	}
	if found && same(&stored, &next) {
		result.Action = api.ActionUnchanged
		f.Results = append(f.Results, f.repeated(result, &stored, revision))
		return nil
	}
	next.Request, next.Action, next.Earlier = f.request, result.Action, f.past(&stored, revision)
	result.UID, result.Generation = next.UID, next.Generation
	if result.Body, err = f.shown(doc, &next); err != nil {
		return err
	}
	f.Results = append(f.Results, result)
	f.write(next, revision, strings.ToUpper(result.Action[:1])+result.Action[1:])
	if !found || doc.IsContent() || !joinsOnly(stored, &next) {
		f.remember(doc, &next)
	}
	return nil
}

// storedOf is what is known of the object of a document.
func (f *Draft) storedOf(doc *Document) (stored api.Spec, revision uint64, found bool) {
	stored, revision, found = f.records.Stored(doc.Object)
	if stored.UID == "" { // nothing is known of it
		stored, found = api.Spec{}, false
	}
	if !found {
		stored.Earlier = f.records.Epitaph(doc.Object).Past(f.now)
	}
	return stored, revision, found
}

// answered adds what a request was answered before; false where it was not.
func (f *Draft) answered(doc *Document, stored *api.Spec, revision uint64, found bool) bool {
	first := f.earlier(doc.Object, stored.Earlier)
	if first == nil && found && f.request != "" && stored.Request == f.request {
		again := f.repeated(api.ApplyResult{Object: doc.Object, Notes: doc.notes, Action: actionOf(found)}, stored, revision)
		first = &again
		if table, name := f.records.Place(doc.Object); table == f.records.Placements {
			f.named[name] = struct{}{}
		}
	}
	if first == nil {
		return false
	}
	f.touched, f.repeats = true, true // the snapshots may be what is missing of the first try
	f.Results = append(f.Results, *first)
	return true
}

func actionOf(found bool) string {
	if found {
		return api.ActionConfigured
	}
	return api.ActionCreated
}

// joinsOnly says that nothing changes but the set, and what clients keep: such an object is judged as little as one that does
// not change.
func joinsOnly(stored api.Spec, next *api.Spec) bool {
	stored.Set, stored.Managed, stored.SealedManaged, stored.Finalizers = next.Set, next.Managed, next.SealedManaged, next.Finalizers
	return same(&stored, next)
}

// shown is what would be stored, without what the hub sets; nothing unless it was asked for.
func (f *Draft) shown(doc *Document, next *api.Spec) (json.RawMessage, error) {
	switch {
	case !f.Show:
		return nil, nil
	case doc.IsContent():
		return f.redacted(doc.object.Body)
	}
	return withoutServerSet(next.Body)
}

// repeated fills in a result from what is stored; for a request that was answered before it is the
// first answer.
func (f *Draft) repeated(result api.ApplyResult, stored *api.Spec, revision uint64) api.ApplyResult {
	if f.request != "" && stored.Request == f.request {
		result.Action = stored.Action
	}
	result.UID, result.Generation, result.ResourceVersion = stored.UID, stored.Generation, f.Version(revision)
	return result
}

// Version is the resourceVersion of a record's revision.
func (f *Draft) Version(revision uint64) string {
	return fmt.Sprintf("%d.%d", f.desk.store.Term.Epoch, revision)
}

// next is the spec that would be stored for doc.
func (f *Draft) next(doc *Document, stored *api.Spec, found bool) (api.Spec, error) {
	next := api.Spec{Header: api.NewHeader(api.KindSpec)}
	if doc.IsContent() {
		next = doc.object.Head
	}
	next.Object = doc.Object
	f.join(doc, &next, stored)
	if err := f.keepOverlay(doc, &next); err != nil {
		return next, err
	}
	if err := f.keepManaged(doc, &next, stored); err != nil {
		return next, err
	}
	next.UID, next.Generation, next.Created = stored.UID, stored.Generation, stored.Created
	if !found {
		next.UID, next.Generation, next.Created = string(uuid.NewUUID()), 1, f.now
	}
	if doc.IsContent() {
		next.Changed = stored.Changed
		if found && stored.Bare != next.Bare {
			next.Generation++
			next.Changed = f.now
		}
		return next, nil
	}
	if found {
		f.refused.faults = append(f.refused.faults, validate.Change(stored, &doc.Decoded)...)
	}
	validate.Fill(&doc.Decoded)
	if p := validate.As[api.Placement](&doc.Decoded); p != nil {
		keepPause(doc, p, stored)
	}
	if m := validate.As[api.MemberMaintenance](&doc.Decoded); m != nil {
		f.defaultMaintenance(doc, m, stored, found)
	}
	if err := f.fill(doc, &next, stored, found); err != nil {
		return next, err
	}
	return next, f.checkEdit(doc, &next, stored)
}

// fill writes the body of a known kind, with the metadata that the hub sets.
func (f *Draft) fill(doc *Document, next, stored *api.Spec, found bool) error {
	meta := doc.Meta()
	next.Labels = meta.Labels
	meta.UID, meta.Generation, meta.CreationTimestamp = types.UID(next.UID), next.Generation, next.Created
	tree, err := bodyOf(doc.Value)
	if err != nil {
		return err
	}
	if err := f.sealValues(doc, tree, next); err != nil {
		return err
	}
	changed, err := specChanged(tree["spec"], stored, found)
	if err != nil {
		return err
	}
	if changed {
		next.Generation++
		meta.Generation = next.Generation
		tree["metadata"].(map[string]any)["generation"] = next.Generation
	}
	if next.Body, err = json.Marshal(tree); err != nil {
		return fmt.Errorf("encoding %s: %w", doc.Object, err)
	}
	next.Size = max(next.Size, len(next.Body))
	return nil
}

// specChanged compares spec with the one in the stored body; a new object is not changed.
func specChanged(spec any, stored *api.Spec, found bool) (bool, error) {
	if !found {
		return false, nil
	}
	var held struct {
		Spec json.RawMessage `json:"spec"`
	}
	if json.Unmarshal(stored.Body, &held) != nil {
		return true, nil
	}
	now, err := json.Marshal(spec)
	if err != nil {
		return false, fmt.Errorf("encoding %s: %w", stored.Object, err)
	}
	return string(now) != string(held.Spec), nil
}

// same says that storing next would change nothing.
func same(stored, next *api.Spec) bool {
	return stored.Deleted == nil && stored.Digest == next.Digest && string(stored.Body) == string(next.Body) &&
		stored.Object == next.Object && stored.Set == next.Set && string(stored.Overlay) == string(next.Overlay) &&
		stored.SealedOverlay == next.SealedOverlay && sameManaged(stored, next) && slices.Equal(stored.Wrapped, next.Wrapped)
}

// remember keeps what the rest of the draft needs to know of a written object.
func (f *Draft) remember(doc *Document, next *api.Spec) {
	if !doc.IsContent() {
		f.typed = append(f.typed, doc)
	}
	if p := validate.As[api.Placement](&doc.Decoded); p != nil {
		f.placements[p.Key()] = p
	}
	if doc.IsContent() {
		f.bodies[next.Digest] = doc.object.Body
		if next.Manifest != "" {
			f.bodies[next.Manifest] = doc.object.Manifest
		}
		for i := range next.Wrapped {
			f.bodies[next.Wrapped[i].Digest] = doc.object.Wrapped[i]
		}
		f.index.Set(*next)
		f.touched = true
	}
}
