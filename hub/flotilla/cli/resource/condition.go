package resource

import (
	"fmt"
	"strings"

	"flotilla/core/api"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Test says whether an object is as wanted, and what was found instead.
type Test func(obj *unstructured.Unstructured) (met bool, found string)

// ConditionTest tests whether a condition has a status, as observed of the present generation.
func ConditionTest(name, status string) Test {
	return func(obj *unstructured.Unstructured) (bool, string) {
		conditions, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
		found := "no such condition"
		for _, c := range SliceOfMaps(conditions) {
			kind, _ := c["type"].(string)
			if !strings.EqualFold(kind, name) && !strings.EqualFold(ShortCondition(obj.GetKind(), kind), name) {
				continue
			}
			observed, _, _ := unstructured.NestedInt64(c, "observedGeneration")
			if observed != 0 && observed < obj.GetGeneration() {
				return false, fmt.Sprintf("%s observed on generation %d, the object has %d", kind, observed, obj.GetGeneration())
			}
			if got, _ := c["status"].(string); strings.EqualFold(got, status) {
				return true, got
			}
			found = fmt.Sprintf("%s %v, %v", c["status"], c["reason"], c["message"])
		}
		return false, found
	}
}

// ShortCondition leaves the kind's name out of a placement's condition.
func ShortCondition(kind, condition string) string {
	if kind == api.KindClusterResourcePlacement || kind == api.KindResourcePlacement {
		return strings.TrimPrefix(condition, kind)
	}
	return condition
}

// HasCondition says that a condition is True of the present generation.
func HasCondition(obj *unstructured.Unstructured, name string) bool {
	met, _ := ConditionTest(name, "True")(obj)
	return met
}

// SliceOfMaps are the maps of a list, none when it is none.
func SliceOfMaps(value any) []map[string]any {
	items, _ := value.([]any)
	var maps []map[string]any
	for _, item := range items {
		if m, ok := item.(map[string]any); ok {
			maps = append(maps, m)
		}
	}
	return maps
}
