package front

import (
	"encoding/base64"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// encodeWords moves what of a Secret was written as text into its data, as Kubernetes does: it is never read as text.
func encodeWords(u *unstructured.Unstructured) {
	if u.GetKind() != "Secret" || u.GetAPIVersion() != "v1" {
		return
	}
	words, _, err := unstructured.NestedStringMap(u.Object, "stringData")
	if err != nil || len(words) == 0 {
		return
	}
	data, _, err := unstructured.NestedStringMap(u.Object, "data")
	if err != nil {
		return
	}
	if data == nil {
		data = map[string]string{}
	}
	for key, word := range words {
		data[key] = base64.StdEncoding.EncodeToString([]byte(word))
	}
	delete(u.Object, "stringData")
	_ = unstructured.SetNestedStringMap(u.Object, data, "data")
}
