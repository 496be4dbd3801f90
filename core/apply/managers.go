package apply

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/core/api"
)

// wholeObject is the path of a difference that is all of an object.
const wholeObject = "/"

// named says of places at which a live object differs who wrote what is there.
func named(found []string, live *unstructured.Unstructured) []api.Difference {
	if len(found) == 0 {
		return nil
	}
	out := make([]api.Difference, len(found))
	for i, path := range found {
		out[i] = api.Difference{Path: path, Manager: managerAt(live, path)}
	}
	return out
}

// managerAt is who wrote the field at a JSON pointer last, by the managed fields of the object: one other than
// the agent; empty when none is known.
func managerAt(live *unstructured.Unstructured, pointer string) string {
	entries, _, _ := unstructured.NestedFieldNoCopy(live.Object, "metadata", "managedFields")
	list, _ := entries.([]any)
	segments := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i := range segments {
		segments[i] = pointerUnescaper.Replace(segments[i])
	}
	manager, latest := "", ""
	for _, entry := range list {
		e, _ := entry.(map[string]any)
		name, _ := e["manager"].(string)
		at, _ := e["time"].(string)
		fields, _ := e["fieldsV1"].(map[string]any)
		if name == "" || name == FieldManager || name == Creator || at < latest || !covers(fields, live.Object, segments) {
			continue
		}
		manager, latest = name, at
	}
	return manager
}

var pointerUnescaper = strings.NewReplacer("~1", "/", "~0", "~")

// covers says whether a set of fields, in the form of managed fields, has the field at a path of value, one
// beneath it, or a whole that it is a part of.
func covers(fields map[string]any, value any, path []string) bool {
	if len(path) == 0 {
		return true
	}
	for key, beneath := range fields {
		part, found := child(key, value, path[0])
		if !found {
			continue
		}
		inner, _ := beneath.(map[string]any)
		if len(inner) == 0 || covers(inner, part, path[1:]) {
			return true
		}
	}
	return false
}

// child is the part of value that a key of managed fields means, when it is the one that a segment of a path
// means: "f:name" of an object, "k:{...}", "v:..." or "i:..." of a list.
func child(key string, value any, segment string) (any, bool) {
	kind, text, _ := strings.Cut(key, ":")
	if kind == "f" {
		object, _ := value.(map[string]any)
		return object[segment], text == segment
	}
	list, _ := value.([]any)
	at, err := strconv.Atoi(segment)
	if err != nil || at < 0 || at >= len(list) {
		return nil, false
	}
	switch kind {
	case "i":
		return list[at], text == segment
	case "v":
		var wanted any
		return list[at], json.Unmarshal([]byte(text), &wanted) == nil && equalJSON(wanted, list[at])
	case "k":
		var keys map[string]any
		element, _ := list[at].(map[string]any)
		return element, json.Unmarshal([]byte(text), &keys) == nil && hasAll(element, keys)
	}
	return nil, false
}

func hasAll(element, keys map[string]any) bool {
	for name, wanted := range keys {
		if !equalJSON(wanted, element[name]) {
			return false
		}
	}
	return len(keys) > 0
}

// equalJSON compares values of which one has its numbers as integers, the other as floats.
func equalJSON(a, b any) bool {
	if n, whole := b.(int64); whole {
		b = float64(n)
	}
	return reflect.DeepEqual(a, b)
}
