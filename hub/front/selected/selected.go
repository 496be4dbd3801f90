// Package selected is which objects a list has: those that selectors choose, behind the last of the page before.
package selected

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// By says whether selectors choose an object. A field is looked up once for it, whatever is required of the field.
func By(o *metainternalversion.ListOptions) func(*unstructured.Unstructured) bool {
	if o == nil {
		return func(*unstructured.Unstructured) bool { return true }
	}
	required, labelled := requiredOf(o.FieldSelector), o.LabelSelector != nil && !o.LabelSelector.Empty()
	return func(u *unstructured.Unstructured) bool {
		if labelled && !o.LabelSelector.Matches(labels.Set(u.GetLabels())) {
			return false
		}
		for i := range required {
			if !required[i].of(u) {
				return false
			}
		}
		return true
	}
}

// field is what is required of one field: that it is each of some texts, and none of others.
type field struct {
	path    []string
	is      []string
	differs map[string]bool
}

// requiredOf is what a selector requires, by field.
func requiredOf(s fields.Selector) (all []field) {
	if s == nil {
		return nil
	}
	at := map[string]int{}
	for _, one := range s.Requirements() {
		i, known := at[one.Field]
		if !known {
			i = len(all)
			at[one.Field] = i
			all = append(all, field{path: strings.Split(one.Field, "."), differs: map[string]bool{}})
		}
		if one.Operator == selection.NotEquals {
			all[i].differs[one.Value] = true
		} else {
			all[i].is = append(all[i].is, one.Value)
		}
	}
	return all
}

func (f *field) of(u *unstructured.Unstructured) bool {
	text, _, _ := unstructured.NestedString(u.Object, f.path...)
	return !f.differs[text] && !slices.ContainsFunc(f.is, func(want string) bool { return want != text })
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
