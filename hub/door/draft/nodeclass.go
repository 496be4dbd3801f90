package draft

import (
	"context"
	"encoding/json"
	"fmt"

	"flotilla/core/advice"
	"flotilla/core/api"
	"flotilla/core/validate"
	"flotilla/hub/door/records"
)

// noteClasses says of node classes among the documents, which are content, what a change of their spec does to
// the nodes of the pools that name them (N16).
func (d *Desk) noteClasses(ctx context.Context, f *Draft, documents []Document) error {
	classes := d.classes(documents)
	for i := range documents {
		if err := ctx.Err(); err != nil {
			return err
		}
		doc := &documents[i]
		if doc.Object.Name == "" || len(doc.object.Body) == 0 {
			continue
		}
		pools := classes.Naming(doc.Object)
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
func (d *Desk) noteClass(ctx context.Context, f *Draft, doc *Document, pools []string) error {
	stored, _, found := d.records.Stored(doc.Object)
	var before json.RawMessage
	if found && stored.Digest != "" && stored.Digest != doc.object.Head.Digest {
		var err error
		if before, err = d.store.Content.Get(ctx, stored.Digest); err != nil {
			return err
		}
	}
	change, notes, err := advice.ClassChangeOf(doc.Object, pools, before, doc.object.Body)
	if err != nil {
		return err
	}
	doc.notes = append(doc.notes, notes...)
	if change.Before != change.After && (!found || change.Before != "") {
		f.classes = append(f.classes, change)
	}
	return nil
}

// classes are the references of the NodePools to their node classes, those of documents in place of the stored ones.
func (d *Desk) classes(documents []Document) advice.Classes {
	refs := advice.Classes{}
	for _, entry := range d.records.Specs[api.KindNodePool].All() {
		if pool, err := records.Decoded[api.NodePool](d.records, &entry); err == nil && pool.Spec.Template.Spec.NodeClassRef != nil {
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
