package door

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/core/disruption"
	"flotilla/core/validate"
)

// noteClasses says of node classes among the documents, which are content, what a change of their spec does to
// the nodes of the pools that name them (disruption.md N16).
func (d *Door) noteClasses(ctx context.Context, f *draft, documents []document) error {
	refs := d.classRefs(documents)
	for i := range documents {
		doc := &documents[i]
		if doc.Object.Name == "" || len(doc.object.Body) == 0 {
			continue
		}
		pools := naming(refs, doc.Object)
		if len(pools) == 0 {
			continue
		}
		if err := d.noteClass(ctx, f, doc, pools); err != nil {
			return fmt.Errorf("comparing %s: %w", doc.Object, err)
		}
	}
	return nil
}

// noteClass compares a node class that pools name with the stored one; one that is not stored may have been,
// when the nodes were made.
func (d *Door) noteClass(ctx context.Context, f *draft, doc *document, pools []string) error {
	change := classChange{object: doc.Object, pools: pools}
	var err error
	if change.after, err = capacity.ClassHash(doc.object.Body); err != nil {
		return err
	}
	stored, _, found := d.records.stored(doc.Object)
	if found && stored.Digest != "" && stored.Digest != doc.object.Head.Digest {
		before, err := d.store.Content.Get(ctx, stored.Digest)
		if err != nil {
			return err
		}
		if change.before, err = capacity.ClassHash(before); err != nil {
			return err
		}
		if change.before != change.after {
			doc.notes = append(doc.notes, "its spec changes: the nodes of "+strings.Join(kinded(pools), ", ")+" drift ("+disruption.DriftClass+") and are replaced, within their budgets")
			doc.notes = append(doc.notes, capacity.ClassNotes(before, doc.object.Body)...)
		}
	}
	if change.before != change.after && (!found || change.before != "") {
		f.classes = append(f.classes, change)
	}
	return nil
}

// noteGoingClasses says of node classes that a draft deletes which pools name them.
func (d *Door) noteGoingClasses(f *draft) {
	refs := d.classRefs(nil)
	for ref := range f.going {
		if ref.Kind == api.KindNodePool {
			delete(refs, ref.Name)
		}
	}
	for i := range f.results {
		result := &f.results[i]
		if pools := naming(refs, result.Object); len(pools) > 0 {
			result.Notes = append(result.Notes, "changes of it are no drift for "+strings.Join(kinded(pools), ", ")+" until it is applied again")
		}
	}
}

// classRefs are the references of the NodePools to their node classes, those of documents in place of the
// stored ones, by the name of the pool.
func (d *Door) classRefs(documents []document) map[string]*api.NodeClassRef {
	refs := map[string]*api.NodeClassRef{}
	for _, entry := range d.records.specs[api.KindNodePool].All() {
		if pool, err := api.SpecOf[api.NodePool](&entry.Value); err == nil && pool.Spec.Template.Spec.NodeClassRef != nil {
			refs[pool.Name] = pool.Spec.Template.Spec.NodeClassRef
		}
	}
	for i := range documents {
		if pool := validate.As[api.NodePool](&documents[i].Decoded); pool != nil {
			refs[pool.Name] = pool.Spec.Template.Spec.NodeClassRef
		}
	}
	return refs
}

// naming lists the NodePools whose reference names an object, sorted.
func naming(refs map[string]*api.NodeClassRef, object api.ObjectRef) []string {
	var names []string
	for name, ref := range refs {
		if ref.Names(object) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// kinded are NodePools as people name them.
func kinded(pools []string) []string {
	out := make([]string, len(pools))
	for i, name := range pools {
		out[i] = api.KindNodePool + "/" + name
	}
	return out
}
