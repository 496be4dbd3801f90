package status

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// finding is a condition before it has its transition time.
type finding struct {
	kind    string // a Condition constant of api, without the prefix
	status  metav1.ConditionStatus
	reason  string
	message string
	since   time.Time // when it turned, where a record tells; else zero
}

// dated makes conditions of findings. One whose status is what it was keeps its transition time; a
// new one has the time its finding knows, else now.
func (e *evaluation) dated(prefix string, findings []finding, previous []metav1.Condition) []metav1.Condition {
	out := make([]metav1.Condition, len(findings))
	for i, f := range findings {
		out[i] = metav1.Condition{
			Type: prefix + f.kind, Status: f.status, Reason: f.reason, Message: f.message,
			ObservedGeneration: e.in.Placement.Generation,
			LastTransitionTime: e.transition(prefix+f.kind, f, previous),
		}
	}
	return out
}

func (e *evaluation) transition(kind string, f finding, previous []metav1.Condition) metav1.Time {
	for i := range previous {
		if previous[i].Type == kind && previous[i].Status == f.status {
			return previous[i].LastTransitionTime
		}
	}
	if !f.since.IsZero() {
		return metav1.NewTime(f.since).Rfc3339Copy()
	}
	return metav1.NewTime(e.in.Now).Rfc3339Copy()
}
