package apply

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Contest is a field that somebody else owns than who wants to write it.
type Contest struct {
	Field   string // ".spec.replicas"
	Manager string
}

// Contested reads from the answer of an API server to a server-side apply which fields others own; none when it
// is no such answer.
func Contested(details *metav1.StatusDetails) []Contest {
	if details == nil {
		return nil
	}
	var found []Contest
	for _, cause := range details.Causes {
		if cause.Type != metav1.CauseTypeFieldManagerConflict {
			continue
		}
		found = append(found, Contest{Field: cause.Field, Manager: managerIn(cause.Message)})
	}
	return found
}

// managerIn reads `conflict with "kubectl-edit" using v1`.
func managerIn(message string) string {
	_, rest, _ := strings.Cut(message, `"`)
	name, _, closed := strings.Cut(rest, `"`)
	if !closed {
		return message
	}
	return name
}

// beforeFirstApply is whom an API server names as the owner of fields that were written before anybody applied.
const beforeFirstApply = "before-first-apply"

// Uncontended says that fields may be taken although they are owned: by nobody but the agent under its other
// names, or by who it was before anybody was recorded.
func Uncontended(contests []Contest) bool {
	for _, c := range contests {
		if c.Manager != FieldManager && c.Manager != Creator && c.Manager != beforeFirstApply {
			return false
		}
	}
	return len(contests) > 0
}

// ContestText says which fields others own, and what can be done about it.
func ContestText(contests []Contest) string {
	const shown = 5
	var texts []string
	for _, c := range contests[:min(shown, len(contests))] {
		texts = append(texts, fmt.Sprintf("%s (%s)", c.Field, c.Manager))
	}
	text := "others own " + strings.Join(texts, ", ")
	if more := len(contests) - shown; more > 0 {
		text += fmt.Sprintf(" and %d more fields", more)
	}
	return text + "; leave them out of the manifest, or set applyStrategy.serverSideApplyConfig.force"
}
