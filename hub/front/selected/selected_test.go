package selected

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

func object(name, phase string, labelled map[string]string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"phase": phase}}}
	u.SetName(name)
	u.SetNamespace("shop")
	u.SetLabels(labelled)
	return u
}

// looked is how Kubernetes looks at fields of an object.
type looked struct{ *unstructured.Unstructured }

func (l looked) Has(path string) bool { return l.Get(path) != "" }

func (l looked) Get(path string) string {
	text, _, _ := unstructured.NestedString(l.Object, strings.Split(path, ".")...)
	return text
}

// What selectors choose is what Kubernetes' own selectors match, and who may be chosen by name and labels is a part of none.
func TestSelectorsChooseAsKubernetesDoes(t *testing.T) {
	var objects []*unstructured.Unstructured
	for _, name := range []string{"", "a", "b"} {
		for _, phase := range []string{"", "Active"} {
			objects = append(objects, object(name, phase, nil), object(name, phase, map[string]string{"x": "1"}))
		}
	}
	for _, text := range []string{
		"", "metadata.name=a", "metadata.name==a", "metadata.name!=a", "metadata.name=a,metadata.name=b", "metadata.name!=a,metadata.name!=b", "metadata.name=a,metadata.name!=a",
		"status.phase=", "status.phase!=", "status.phase=Active,metadata.namespace=shop", "none=", "none!=x", "none=x", "metadata.name=a,status.phase!=Active",
	} {
		for _, label := range []string{"", "x=1", "x!=1", "!x"} {
			matched, err := fields.ParseSelector(text)
			require.NoError(t, err)
			labelled, err := labels.Parse(label)
			require.NoError(t, err)
			o := &metainternalversion.ListOptions{FieldSelector: matched, LabelSelector: labelled}
			choose, may := By(o), May(o)
			for _, u := range objects {
				want := matched.Matches(looked{u}) && labelled.Matches(labels.Set(u.GetLabels()))
				require.Equal(t, want, choose(u), "%s %s %v", text, label, u.Object)
				require.True(t, !want || may(u.GetName(), u.GetLabels()), "%s %s %v", text, label, u.Object)
			}
		}
	}
	require.True(t, By(nil)(objects[0]))
	require.True(t, May(nil)("a", nil))
	require.False(t, May(&metainternalversion.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", "b")})("a", nil))
}

// A selector of the most requirements is chosen by about as fast as one of few: each field is looked up once.
func BenchmarkLongSelectors(b *testing.B) {
	for _, count := range []int{1, 255} {
		var all []fields.Selector
		for i := range count {
			all = append(all, fields.OneTermNotEqualSelector("metadata.name", fmt.Sprint("n", i)))
		}
		choose := By(&metainternalversion.ListOptions{FieldSelector: fields.AndSelectors(all...)})
		u := object("a", "", nil)
		b.Run(fmt.Sprint(count), func(b *testing.B) {
			for b.Loop() {
				choose(u)
			}
		})
	}
}
