package validate

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/strict"
)

// Selectors are asked about each object, or each member, at each decision: they take as long as they have requirements.
const (
	// maxRequirements bounds one selector; nobody asks an object for a hundred labels.
	maxRequirements = 100
	// maxValues bounds one requirement; a list of members is a tenth of that where they are named instead.
	maxValues = 1000
	// maxResourceRequirements bounds all resource selectors of a placement, which has a hundred of them at most.
	maxResourceRequirements = 500
)

// requirements is how many there are in a selector.
func requirements(s *metav1.LabelSelector) int {
	if s == nil {
		return 0
	}
	return len(s.MatchLabels) + len(s.MatchExpressions)
}

// labelSelector checks that a selector can be parsed, and is no longer than anybody needs.
func (fs rules) labelSelector(s *metav1.LabelSelector, at *strict.Place) {
	if n := requirements(s); n > maxRequirements {
		fs.Add(at, fmt.Sprintf("a selector of %d requirements", n), fmt.Sprintf("at most %d, labels and expressions together", maxRequirements), nil)
		return
	}
	if s == nil {
		return
	}
	fs.labels(s.MatchLabels, at.Child("matchLabels"))
	for i, e := range s.MatchExpressions {
		fs.labelExpression(e, at.Child("matchExpressions").Item(i))
	}
}

func (fs rules) labelExpression(e metav1.LabelSelectorRequirement, at *strict.Place) {
	fs.qualifiedName(e.Key, at.Child("key"))
	words := []string{"In", "NotIn", "Exists", "DoesNotExist"}
	if e.Operator == "" {
		fs.Add(at.Child("operator"), "nothing", oneOf(words), nil)
		return
	}
	fs.choice(string(e.Operator), at.Child("operator"), words...)
	switch operator := strict.Meant(string(e.Operator), words...); operator {
	case "In", "NotIn":
		if len(e.Values) == 0 {
			fs.Add(at.Child("values"), "nothing", "at least one value for operator "+operator, nil)
		}
	case "Exists", "DoesNotExist":
		if len(e.Values) > 0 {
			fs.Add(at.Child("values"), fmt.Sprintf("a list of %d", len(e.Values)), "no values for operator "+operator, nil)
		}
	}
	if len(e.Values) > maxValues {
		fs.Add(at.Child("values"), listOf(len(e.Values)), fmt.Sprintf("at most %d values", maxValues), nil)
		return
	}
	for i, v := range e.Values {
		fs.labelValue(v, at.Child("values").Item(i))
	}
}
