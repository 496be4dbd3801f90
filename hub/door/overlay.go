package door

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	kjson "k8s.io/apimachinery/pkg/util/json"

	"flotilla/core/api"
	"flotilla/core/content"
)

// An overlay is what single changes (label, taint, cordon, scale, edit: all of them patches) made of an
// object since documents say nothing of it. An apply keeps what its document does not set, as kubectl
// does, and takes over the rest: a member that somebody cordoned stays so when its file is applied
// again.

// overlaid returns raw with the stored object's overlay in it, and what is left of the overlay.
func (d *Door) overlaid(ctx context.Context, raw json.RawMessage) (merged json.RawMessage, left map[string]any, err error) {
	var document, overlay map[string]any
	if kjson.Unmarshal(raw, &document) != nil {
		return raw, nil, nil
	}
	stored, _, found := d.storedOf(content.RefOf(document))
	if !found || stored.Deleted != nil {
		return raw, nil, nil
	}
	text, err := d.overlayOf(ctx, &stored)
	if err != nil {
		return nil, nil, err
	}
	if len(text) == 0 || kjson.Unmarshal(text, &overlay) != nil {
		return raw, nil, nil
	}
	if left = unset(overlay, document); len(left) == 0 {
		return raw, nil, nil
	}
	if merged, err = json.Marshal(merge(document, left)); err != nil {
		return raw, nil, nil //nolint:nilerror // what cannot be written cannot have been read: the document stays as it is
	}
	return merged, left, nil
}

// overlayOf is the overlay of a stored object, empty without one. That of content is content too.
func (d *Door) overlayOf(ctx context.Context, stored *api.Spec) (json.RawMessage, error) {
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
func (f *draft) keepOverlay(doc *document, next *api.Spec) error {
	if len(doc.overlay) == 0 {
		return nil
	}
	overlay, err := json.Marshal(doc.overlay)
	if err != nil {
		return fmt.Errorf("encoding %s: %w", doc.Object, err)
	}
	if !doc.IsContent() {
		next.Overlay = overlay
		return nil
	}
	next.SealedOverlay = f.keys.Digest(overlay)
	f.bodies = append(f.bodies, sealable{next.SealedOverlay, overlay})
	return nil
}

// storedOf is what is stored under the name that a document gives itself.
func (d *Door) storedOf(ref api.ObjectRef) (api.Spec, uint64, bool) {
	inNamespace, known := api.KindNamespaced(content.GroupOf(ref.APIVersion), ref.Kind)
	switch {
	case known && inNamespace && ref.Namespace == "":
		ref.Namespace = "default"
	case known && !inNamespace:
		ref.Namespace = ""
	}
	table, name := d.records.place(ref)
	return table.Get(name)
}

// unset returns the parts of overlay that document does not set; neither is changed.
func unset(overlay, document map[string]any) map[string]any {
	left := map[string]any{}
	for key, value := range overlay {
		set, isSet := document[key]
		if !isSet {
			left[key] = value
			continue
		}
		inner, isMap := value.(map[string]any)
		within, intoMap := set.(map[string]any)
		if !isMap || !intoMap {
			continue
		}
		if rest := unset(inner, within); len(rest) > 0 {
			left[key] = rest
		}
	}
	return left
}

// extend returns the overlay of an object after one more patch: what a patch removes is no part of it.
func extend(overlay, patch json.RawMessage) (map[string]any, error) {
	if len(overlay) == 0 {
		overlay = json.RawMessage("{}")
	}
	extended, err := mergePatch(overlay, patch)
	if err != nil {
		return nil, err
	}
	var tree map[string]any
	if err := kjson.Unmarshal(extended, &tree); err != nil {
		return nil, err
	}
	return pruned(tree), nil
}

// pruned is tree without maps that hold nothing.
func pruned(tree map[string]any) map[string]any {
	left := map[string]any{}
	for key, value := range tree {
		inner, isMap := value.(map[string]any)
		if !isMap {
			left[key] = value
			continue
		}
		if rest := pruned(inner); len(rest) > 0 {
			left[key] = rest
		}
	}
	return left
}

// keptNote says what an apply left as single changes made it.
func keptNote(left map[string]any) string {
	return "kept, because the document does not set it: " + strings.Join(leaves("", left), ", ")
}

func leaves(path string, tree map[string]any) []string {
	var found []string
	for _, key := range slices.Sorted(maps.Keys(tree)) {
		at := strings.TrimPrefix(path+"."+key, ".")
		if inner, isMap := tree[key].(map[string]any); isMap {
			found = append(found, leaves(at, inner)...)
		} else {
			found = append(found, at)
		}
	}
	return found
}
