package door

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"

	"flotilla/core/api"
	"flotilla/core/strict"
	"flotilla/core/validate"
)

// apply compares a document with what is stored and adds the difference to the draft. Exactly one
// result is added.
func (f *draft) apply(doc *document) error {
	table, name := f.records.Place(doc.Object)
	stored, revision, found := f.records.Stored(doc.Object)
	if stored.UID == "" { // nothing is known of it
		stored, found = api.Spec{}, false
	}
	if !found {
		stored.Earlier = epitaphOf(f.records, doc.Object).past(f.now)
	}
	if first := f.earlier(doc.Object, stored.Earlier); first != nil {
		f.touched = true
		f.results = append(f.results, *first)
		return nil
	}
	result := api.ApplyResult{Object: doc.Object, Notes: doc.notes, Action: api.ActionCreated}
	if table == f.records.Placements {
		f.named[name] = struct{}{}
	}
	if found {
		result.Action = api.ActionConfigured
		if f.request != "" && stored.Request == f.request {
			f.touched = true // the snapshots may be what is missing of the first try
			f.results = append(f.results, f.repeated(result, &stored, revision))
			return nil
		}
		if stored.Deleted != nil {
			f.refuseDeleting(&stored)
		}
	}
	f.compareVersion(doc, revision)
	next, err := f.next(doc, &stored, found)
	if err != nil {
		return err
	}
	result.Notes = doc.notes // looking at the document has added to them
	if found && same(&stored, &next) {
		result.Action = api.ActionUnchanged
		f.results = append(f.results, f.repeated(result, &stored, revision))
		return nil
	}
	next.Request, next.Action, next.Earlier = f.request, result.Action, f.past(&stored, revision)
	result.UID, result.Generation = next.UID, next.Generation
	if result.Body, err = f.shown(doc, &next); err != nil {
		return err
	}
	f.results = append(f.results, result)
	f.write(next, revision, strings.ToUpper(result.Action[:1])+result.Action[1:])
	f.remember(doc, &next)
	return nil
}

// shown is what would be stored, without what the hub sets; nothing unless it was asked for.
func (f *draft) shown(doc *document, next *api.Spec) (json.RawMessage, error) {
	switch {
	case !f.show:
		return nil, nil
	case doc.IsContent():
		return f.redacted(doc.object.Body)
	}
	return withoutServerSet(next.Body)
}

// repeated fills in a result from what is stored; for a request that was answered before it is the
// first answer.
func (f *draft) repeated(result api.ApplyResult, stored *api.Spec, revision uint64) api.ApplyResult {
	if f.request != "" && stored.Request == f.request {
		result.Action = stored.Action
	}
	result.UID, result.Generation, result.ResourceVersion = stored.UID, stored.Generation, f.version(revision)
	return result
}

func (f *draft) refuseDeleting(stored *api.Spec) {
	f.conflict = append(f.conflict, strict.Fault{
		Object: stored.Object.String(), Path: "metadata.deletionTimestamp",
		Found:    "an object that is being deleted since " + stored.Deleted.UTC().Format("15:04:05Z"),
		Expected: "one that is gone or stays",
	})
}

// version is the resourceVersion of a record's revision.
func (f *draft) version(revision uint64) string {
	return fmt.Sprintf("%d.%d", f.door.store.Term.Epoch, revision)
}

// compareVersion is the optimistic lock: a resourceVersion of this hub must still be current. Those of
// other systems say nothing here.
func (f *draft) compareVersion(doc *document, revision uint64) {
	given := doc.ResourceVersion
	if epoch, _, ours := strings.Cut(given, "."); !ours || epoch == "" {
		return
	}
	if current := f.version(revision); given != current {
		was := current
		if revision == 0 {
			was = "no such object"
		}
		f.conflict = append(f.conflict, strict.Fault{
			Object: doc.Object.String(), Path: "metadata.resourceVersion", Found: given,
			Expected: was + ", which is current: read the object again, or leave the field out",
		})
	}
}

// next is the spec that would be stored for doc.
func (f *draft) next(doc *document, stored *api.Spec, found bool) (api.Spec, error) {
	next := api.Spec{Header: api.NewHeader(api.KindSpec)}
	if doc.IsContent() {
		next = doc.object.Head
	}
	next.Object = doc.Object
	if err := f.keepOverlay(doc, &next); err != nil {
		return next, err
	}
	next.UID, next.Generation, next.Created = stored.UID, stored.Generation, stored.Created
	if !found {
		next.UID, next.Generation, next.Created = string(uuid.NewUUID()), 1, f.now
	}
	if doc.IsContent() {
		if found && stored.Bare != next.Bare {
			next.Generation++
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
func (f *draft) fill(doc *document, next, stored *api.Spec, found bool) error {
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
		stored.Object == next.Object && string(stored.Overlay) == string(next.Overlay) &&
		stored.SealedOverlay == next.SealedOverlay && slices.Equal(stored.Wrapped, next.Wrapped)
}

// remember keeps what the rest of the draft needs to know of a written object.
func (f *draft) remember(doc *document, next *api.Spec) {
	if !doc.IsContent() {
		f.typed = append(f.typed, doc)
	}
	if p := validate.As[api.Placement](&doc.Decoded); p != nil {
		f.placements[p.Key()] = p
	}
	if doc.IsContent() {
		f.bodies = append(f.bodies, sealable{next.Digest, doc.object.Body})
		if next.Manifest != "" {
			f.bodies = append(f.bodies, sealable{next.Manifest, doc.object.Manifest})
		}
		for i := range next.Wrapped {
			f.bodies = append(f.bodies, sealable{next.Wrapped[i].Digest, doc.object.Wrapped[i]})
		}
		f.index.Set(*next)
		f.touched = true
	}
}
