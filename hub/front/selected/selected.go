// Package selected is which objects a list has: those that selectors choose, behind the last of the page before.
package selected

import (
	"encoding/base64"
	"fmt"
	"strings"

	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
)

// By says whether selectors choose an object.
func By(o *metainternalversion.ListOptions) func(*unstructured.Unstructured) bool {
	if o == nil {
		return func(*unstructured.Unstructured) bool { return true }
	}
	return func(u *unstructured.Unstructured) bool {
		if o.LabelSelector != nil && !o.LabelSelector.Matches(labels.Set(u.GetLabels())) {
			return false
		}
		return o.FieldSelector == nil || o.FieldSelector.Matches(fieldsOf{u})
	}
}

// May says whether selectors may choose an object of a name and of labels, for who has not read it yet.
func May(o *metainternalversion.ListOptions) func(name string, labelled map[string]string) bool {
	if o == nil {
		return func(string, map[string]string) bool { return true }
	}
	named, one := "", false
	if o.FieldSelector != nil {
		named, one = o.FieldSelector.RequiresExactMatch("metadata.name")
	}
	return func(name string, labelled map[string]string) bool {
		return (!one || name == named) && (o.LabelSelector == nil || o.LabelSelector.Matches(labels.Set(labelled)))
	}
}

// Fields are the fields that objects are selected by, beside their names and namespaces.
var Fields = map[string][]string{"Secret": {"type"}, "Namespace": {"status.phase"}}

// fieldsOf are the fields of an object, by path.
type fieldsOf struct{ *unstructured.Unstructured }

// Has says that there is a field.
func (f fieldsOf) Has(path string) bool { return f.Get(path) != "" }

// Get is the text in a field.
func (f fieldsOf) Get(path string) string {
	text, _, _ := unstructured.NestedString(f.Object, strings.Split(path, ".")...)
	return text
}

// Token is where a list goes on, behind a key.
func Token(key string) string { return base64.RawURLEncoding.EncodeToString([]byte(key)) }

// After is the key behind which a list goes on, empty for the first page.
func After(o *metainternalversion.ListOptions) (string, error) {
	if o == nil || o.Continue == "" {
		return "", nil
	}
	key, err := base64.RawURLEncoding.DecodeString(o.Continue)
	if err != nil {
		return "", fmt.Errorf("found continue %q, expected what a list gave", o.Continue)
	}
	return string(key), nil
}
