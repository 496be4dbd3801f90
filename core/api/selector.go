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

// SelectsNothing is what is said of the selector at a place when nothing on the hub matches it.
func (s *ResourceSelector) SelectsNothing(place int) string {
	return fmt.Sprintf("resourceSelectors[%d] (%s) selects nothing on the hub", place, s)
}
