package overlay

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	kjson "k8s.io/apimachinery/pkg/util/json"
)

// Keep returns the text of a document with an overlay in it, and what is left of the overlay: the parts that the document
// does not set. Without any, and when either cannot be read, the text stays as it is.
func Keep(text, overlay json.RawMessage) (merged json.RawMessage, left map[string]any) {
	var document, held map[string]any
	if kjson.Unmarshal(text, &document) != nil || len(overlay) == 0 || kjson.Unmarshal(overlay, &held) != nil {
		return text, nil
	}
	if left = unset(held, document); len(left) == 0 {
		return text, nil
	}
	merged, err := json.Marshal(merge(document, left))
	if err != nil { // what cannot be written cannot have been read
		return text, nil
	}
	return merged, left
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

// Extend returns the overlay of an object after one more patch: what a patch removes is no part of it.
func Extend(overlay, patch json.RawMessage) (map[string]any, error) {
	if len(overlay) == 0 {
		overlay = json.RawMessage("{}")
	}
	extended, err := Patch(overlay, patch)
	if err != nil {
		return nil, err
	}
	var tree map[string]any
	if err := kjson.Unmarshal(extended, &tree); err != nil {
		return nil, err
	}
	return pruned(tree), nil
}

// Whole returns the overlay of an object that a command made of a document: all of it but what names the object, so that a
// file that is applied later takes over what it sets and keeps the rest.
func Whole(document json.RawMessage) (map[string]any, error) {
	whole, err := Extend(nil, document)
	if err != nil {
		return nil, err
	}
	delete(whole, "apiVersion")
	delete(whole, "kind")
	if metadata, ok := whole["metadata"].(map[string]any); ok {
		delete(metadata, "name")
	}
	return pruned(whole), nil
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

// Note says what an apply left as single changes made it.
func Note(left map[string]any) string {
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
