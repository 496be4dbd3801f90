package api

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// String says which objects the selector means: "Namespace shop", "ConfigMap with labels app=web".
func (s *ResourceSelector) String() string {
	switch {
	case s.Name != "":
		return s.Kind + " " + s.Name
	case s.LabelSelector != nil:
		return s.Kind + " with labels " + metav1.FormatLabelSelector(s.LabelSelector)
	}
	return "every " + s.Kind
}

// Where content is looked for.
const (
	OnTheHub      = "on the hub"
	AmongTheFiles = "among the files"
)

// SelectsNothing is what is said of the selector at a place when nothing matches it where content was looked for.
func (s *ResourceSelector) SelectsNothing(place int, where string) string {
	return fmt.Sprintf("resourceSelectors[%d] (%s) selects nothing %s", place, s, where)
}
