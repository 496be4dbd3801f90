package door

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"flotilla/core/api"
	"flotilla/core/disruption"
)

// noteClasses says of node classes among the documents, which are content, what a change of their spec does to
// the nodes of the pools that name them (disruption.md N16).
func (d *Door) noteClasses(ctx context.Context, documents []document) error {
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
		stored, _, found := d.records.stored(doc.Object)
		if !found || stored.Digest == "" || stored.Digest == doc.object.Head.Digest {
			continue
		}
		before, err := d.store.Content.Get(ctx, stored.Digest)
		if err != nil {
			return fmt.Errorf("reading %s: %w", stored.Object, err)
		}
		notes, err := classNotes(before, doc.object.Body, pools)
		if err != nil {
			return fmt.Errorf("comparing %s: %w", stored.Object, err)
		}
		doc.notes = append(doc.notes, notes...)
	}
	return nil
}

// classNotes are about a change of a node class that pools name; none when its spec stays.
func classNotes(before, after []byte, pools []string) ([]string, error) {
	was, err := disruption.ClassHash(before)
	if err != nil {
		return nil, err
	}
	is, err := disruption.ClassHash(after)
	if err != nil || was == is {
		return nil, err
	}
	note := "its spec changes: the nodes of " + strings.Join(pools, ", ") + " drift (" + disruption.DriftClass + ") and are replaced, within their budgets"
	return append([]string{note}, disruption.ClassNotes(before, after)...), nil
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
			result.Notes = append(result.Notes, "changes of it are no drift for "+strings.Join(pools, ", ")+" until it is applied again")
		}
	}
}

// classRefs are the references of the NodePools to their node classes, those of documents in place of the
// stored ones, by the name of the pool.
func (d *Door) classRefs(documents []document) map[string]*api.NodeClassRef {
	refs := map[string]*api.NodeClassRef{}
	for _, entry := range d.records.specs[api.KindNodePool].All() {
		if pool, err := entry.Value.DecodePool(); err == nil && pool.Spec.Template.Spec.NodeClassRef != nil {
			refs[pool.Name] = pool.Spec.Template.Spec.NodeClassRef
		}
	}
	for i := range documents {
		if pool := documents[i].Pool; pool != nil {
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
			names = append(names, api.KindNodePool+"/"+name)
		}
	}
	slices.Sort(names)
	return names
}
