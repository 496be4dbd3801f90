package status

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
)

// failures lists the objects in trouble on a member, the first 100 of them, while it is not applied
// or not available as far as it said.
func (e *evaluation) failures(v *view) []api.FailedPlacement {
	if v.result == nil || len(v.result.Failures) == 0 {
		return nil
	}
	if applied, _ := appliedOf(v.result); applied != metav1.ConditionFalse && v.result.Available != "False" && v.result.DiffReported != "False" {
		return nil
	}
	n := min(len(v.result.Failures), shown)
	out := make([]api.FailedPlacement, n)
	for i, f := range v.result.Failures[:n] {
		out[i] = api.FailedPlacement{
			ResourceIdentifier: e.identifier(f.ObjectRef),
			Condition: metav1.Condition{
				Type: f.Condition, Status: metav1.ConditionFalse, Reason: f.Reason, Message: f.Message,
				ObservedGeneration: v.result.Generation, LastTransitionTime: v.result.Changed.Rfc3339Copy(),
			},
		}
	}
	return out
}

// identifier is an object of the placement as its status shows it.
func (e *evaluation) identifier(ref api.ObjectRef) api.ResourceIdentifier {
	if e.latest != nil {
		for i := range e.latest.Manifests {
			if m := &e.latest.Manifests[i]; m.Envelope != "" && m.ObjectRef == ref {
				return m.Identifier()
			}
		}
	}
	return ref.Identifier()
}
