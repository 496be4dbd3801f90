package overlay

import (
	"encoding/json"
	"fmt"

	kjson "k8s.io/apimachinery/pkg/util/json"
)

// Patch returns target with a JSON merge patch applied (RFC 7386): maps are merged, null removes,
// anything else replaces.
func Patch(target, patch json.RawMessage) (json.RawMessage, error) {
	var held, change map[string]any
	if err := kjson.Unmarshal(target, &held); err != nil {
		return nil, fmt.Errorf("decoding the object: %w", err)
	}
	if err := kjson.Unmarshal(patch, &change); err != nil {
		return nil, fmt.Errorf("found a patch that is not a JSON object: %w", err)
	}
	merged, err := json.Marshal(merge(held, change))
	if err != nil {
		return nil, fmt.Errorf("encoding: %w", err)
	}
	return merged, nil
}

func merge(held, change map[string]any) map[string]any {
	if held == nil {
		held = map[string]any{}
	}
	for key, value := range change {
		inner, isMap := value.(map[string]any)
		switch {
		case value == nil:
			delete(held, key)
		case isMap:
			before, _ := held[key].(map[string]any)
			held[key] = merge(before, inner)
		default:
			held[key] = value
		}
	}
	return held
}
