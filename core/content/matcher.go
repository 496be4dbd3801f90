package content

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// matcher is a label selector. Long lists of values are looked up, not gone through: an object costs as much as there are
// requirements, whatever they list.
type matcher struct {
	short labels.Selector
	long  []listed
}

// listed is a requirement with a long list of values.
type listed struct {
	key    string
	in     bool
	values map[string]bool
}

// longList is above how many values a list is long.
const longList = 16

// matcherOf reads a selector. Of the values of a long list one is checked alone: the door holds all to their form, and what has
// another matches nothing.
func matcherOf(s *metav1.LabelSelector) (matcher, error) {
	if s == nil {
		return matcher{short: labels.Everything()}, nil
	}
	var m matcher
	rest := metav1.LabelSelector{MatchLabels: s.MatchLabels}
	for i := range s.MatchExpressions {
		e := s.MatchExpressions[i]
		is := e.Operator == metav1.LabelSelectorOpIn
		if (is || e.Operator == metav1.LabelSelectorOpNotIn) && len(e.Values) > longList {
			m.long = append(m.long, listed{e.Key, is, setOf(e.Values)})
			if e.Values = e.Values[:1]; is {
				e.Operator, e.Values = metav1.LabelSelectorOpExists, nil
			}
		}
		rest.MatchExpressions = append(rest.MatchExpressions, e)
	}
	short, err := metav1.LabelSelectorAsSelector(&rest)
	if err != nil {
		return matcher{}, fmt.Errorf("parsing: %w", err)
	}
	m.short = short
	return m, nil
}

func setOf(values []string) map[string]bool {
	set := make(map[string]bool, len(values))
	for _, value := range values {
		set[value] = true
	}
	return set
}

// matches says whether the selector selects what has these labels.
func (m *matcher) matches(set labels.Set) bool {
	for i := range m.long {
		value, has := set[m.long[i].key]
		if listed := has && m.long[i].values[value]; listed != m.long[i].in {
			return false
		}
	}
	return m.short.Matches(set)
}
