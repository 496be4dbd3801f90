package content

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Whatever a selector is like, it selects what it does in Kubernetes.
func TestSelectorsSelectAsInKubernetes(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	operators := []metav1.LabelSelectorOperator{metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn, metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist}
	key := func() string { return fmt.Sprint("k", random.IntN(3)) }
	value := func() string { return fmt.Sprint("v", random.IntN(30)) }
	selected := 0
	for range 2_000 {
		s := &metav1.LabelSelector{}
		if random.IntN(4) == 0 {
			s.MatchLabels = map[string]string{key(): value()}
		}
		for range random.IntN(3) {
			e := metav1.LabelSelectorRequirement{Key: key(), Operator: operators[random.IntN(len(operators))]}
			for n := []int{1, longList, longList + 1, 40}[random.IntN(4)]; len(e.Values) < n && (e.Operator == metav1.LabelSelectorOpIn || e.Operator == metav1.LabelSelectorOpNotIn); {
				e.Values = append(e.Values, value())
			}
			s.MatchExpressions = append(s.MatchExpressions, e)
		}
		want, err := metav1.LabelSelectorAsSelector(s)
		require.NoError(t, err)
		got, err := matcherOf(s)
		require.NoError(t, err)
		for range 20 {
			set := labels.Set{}
			for range random.IntN(4) {
				set[key()] = value()
			}
			require.Equal(t, want.Matches(set), got.matches(set), "%v of %v", set, s)
			if got.matches(set) {
				selected++
			}
		}
	}
	require.Greater(t, selected, 5_000)
}

// A long list of values is a set, and what remains of it does not grow with it.
func TestLongListsAreSets(t *testing.T) {
	for _, operator := range []metav1.LabelSelectorOperator{metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn} {
		values := make([]string, 50_000)
		for i := range values {
			values[i] = fmt.Sprint("v", i)
		}
		m, err := matcherOf(&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "k", Operator: operator, Values: values}}})
		require.NoError(t, err)
		require.Len(t, m.long[0].values, len(values))
		rest, _ := m.short.Requirements()
		require.LessOrEqual(t, rest[0].Values().Len(), 1)
	}
	none, err := matcherOf(nil)
	require.NoError(t, err)
	require.True(t, none.matches(labels.Set{"any": "thing"}))
}

// A selector that no cluster would take is refused, with a long list too.
func TestSelectorsThatCannotBeRead(t *testing.T) {
	long := make([]string, longList+1)
	for _, e := range []metav1.LabelSelectorRequirement{
		{Key: "k", Operator: "Within"},
		{Key: "k", Operator: metav1.LabelSelectorOpIn},
		{Key: "no key", Operator: metav1.LabelSelectorOpNotIn, Values: long},
		{Key: "no key", Operator: metav1.LabelSelectorOpIn, Values: long},
		{Key: "k", Operator: metav1.LabelSelectorOpExists, Values: long},
	} {
		_, err := matcherOf(&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{e}})
		require.ErrorContains(t, err, "parsing: ", e)
	}
}

func BenchmarkLongLists(b *testing.B) {
	values := make([]string, 1_000)
	for i := range values {
		values[i] = fmt.Sprint("v", i)
	}
	m, err := matcherOf(&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "k", Operator: metav1.LabelSelectorOpNotIn, Values: values}}})
	require.NoError(b, err)
	for b.Loop() {
		m.matches(labels.Set{"k": "none"})
	}
}
