package draft

import (
	"context"
	"encoding/json"
	"fmt"

	kjson "k8s.io/apimachinery/pkg/util/json"

	"flotilla/core/api"
	"flotilla/core/content"
	"flotilla/core/overlay"
)

// overlaid returns raw with the stored object's overlay in it, and what is left of the overlay.
func (d *Desk) overlaid(ctx context.Context, raw json.RawMessage, seen map[string]uint64) (merged json.RawMessage, left map[string]any, err error) {
	var document map[string]any
	if kjson.Unmarshal(raw, &document) != nil {
		return raw, nil, nil
	}
	stored, found := d.storedOf(content.RefOf(document), seen)
	if !found || stored.Deleted != nil {
		return raw, nil, nil
	}
	text, err := d.overlayOf(ctx, &stored)
	if err != nil {
		return nil, nil, err
	}
	merged, left = overlay.Keep(raw, text)
	return merged, left, nil
}

// overlayOf is the overlay of a stored object, empty without one. That of content is content too.
func (d *Desk) overlayOf(ctx context.Context, stored *api.Spec) (json.RawMessage, error) {
	if stored.SealedOverlay == "" {
		return stored.Overlay, nil
	}
	text, err := d.store.Content.Get(ctx, stored.SealedOverlay)
	if err != nil {
		return nil, fmt.Errorf("reading what was changed of %s: %w", stored.Object, err)
	}
	return text, nil
}

// keepOverlay puts the overlay of a document into the spec that would be stored, or, of content, beside its body.
func (f *Draft) keepOverlay(doc *Document, next *api.Spec) error {
	if len(doc.overlay) == 0 {
		return nil
	}
	text, err := json.Marshal(doc.overlay)
	if err != nil {
		return fmt.Errorf("encoding %s: %w", doc.Object, err)
	}
	if !doc.IsContent() {
		next.Overlay = text
		return nil
	}
	next.SealedOverlay = f.desk.store.Keys.Digest(text)
	f.bodies[next.SealedOverlay] = text
	return nil
}

// storedOf is what is stored under the name that a document gives itself; it notes in seen what that is.
func (d *Desk) storedOf(ref api.ObjectRef, seen map[string]uint64) (api.Spec, bool) {
	inNamespace, known := api.KindNamespaced(content.GroupOf(ref.APIVersion), ref.Kind)
	switch {
	case known && inNamespace && ref.Namespace == "":
		ref.Namespace = "default"
	case known && !inNamespace:
		ref.Namespace = ""
	}
	table, name := d.records.Place(ref)
	seen[table.Key(name)] = d.store.State.Revision(table.Key(name))
	stored, _, found := table.Get(name)
	return stored, found
}
