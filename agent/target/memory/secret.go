package memory

import (
	"encoding/base64"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// encoded is an object as an API server keeps it: stringData of a Secret becomes data, and is never shown.
func encoded(object *unstructured.Unstructured) *unstructured.Unstructured {
	given, _ := object.Object["stringData"].(map[string]any)
	if object.GetAPIVersion() != "v1" || object.GetKind() != "Secret" || given == nil {
		return object
	}
	kept := object.DeepCopy()
	data, _ := kept.Object["data"].(map[string]any)
	if data == nil {
		data = map[string]any{}
	}
	for name, value := range given {
		data[name] = base64.StdEncoding.EncodeToString([]byte(fmt.Sprint(value)))
	}
	kept.Object["data"] = data
	delete(kept.Object, "stringData")
	return kept
}
