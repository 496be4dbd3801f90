package envelope

import (
	"maps"
	"slices"

	"flotilla/core/api"
)

// Bounds of an envelope.
const (
	MaxItems = 50
	// maxBytes is how long all that lies in an envelope may be, as JSON with aliases followed.
	maxBytes = 900 << 10
)

// Form is what an envelope may hold.
type Form int

// The forms of envelopes.
const (
	// None is an object that is no envelope.
	None Form = iota
	// Config is a ConfigMap: it holds objects outside namespaces and of its own, as texts.
	Config
	// Namespaced is a ResourceEnvelope: it holds objects of its own namespace.
	Namespaced
	// ClusterWide is a ClusterResourceEnvelope: it holds objects outside namespaces.
	ClusterWide
)

// FormOf is the form of an object of a kind whose annotation api.AnnotationEnvelope has a value.
func FormOf(apiVersion, kind, annotation string) Form {
	group, _ := api.SplitAPIVersion(apiVersion)
	switch {
	case group == api.GroupPlacement && kind == api.KindResourceEnvelope:
		return Namespaced
	case group == api.GroupPlacement && kind == api.KindClusterResourceEnvelope:
		return ClusterWide
	case group == "" && kind == "ConfigMap" && annotation == "true":
		return Config
	}
	return None
}

// Of is the form of a document.
func Of(document map[string]any) Form {
	apiVersion, _ := document["apiVersion"].(string)
	kind, _ := document["kind"].(string)
	metadata, _ := document["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	annotation, _ := annotations[api.AnnotationEnvelope].(string)
	return FormOf(apiVersion, kind, annotation)
}

// Item is one entry of an envelope.
type Item struct {
	// Key is the one under data.
	Key string
	// Object is what lies there, nil where that is no object; Found then says what is there.
	Object map[string]any
	Found  string
}

// Open returns what lies in a document that is an envelope, by key; nothing of one that is none. The objects of a
// ResourceEnvelope and a ClusterResourceEnvelope are parts of document.
func Open(document map[string]any) []Item {
	form := Of(document)
	data, _ := document["data"].(map[string]any)
	if form == None || len(data) > MaxItems {
		return nil
	}
	left := maxBytes
	items := make([]Item, 0, len(data))
	for _, key := range slices.Sorted(maps.Keys(data)) {
		item := Item{Key: key}
		if form == Config {
			item.Object, item.Found = parse(data[key], &left)
		} else {
			item.Object, item.Found = asObject(data[key])
		}
		items = append(items, item)
	}
	return items
}

func asObject(value any) (object map[string]any, found string) {
	switch held := value.(type) {
	case map[string]any:
		return held, ""
	case nil:
		return nil, "nothing"
	case []any:
		return nil, "a list"
	case string:
		return nil, "a text"
	}
	return nil, "a single value"
}
