package show

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"flotilla/core/api"
	"flotilla/hub/flotilla/cli/session"
)

func evictionColumns(e *api.ClusterResourcePlacementEviction, now time.Time) []Column {
	valid, executed, message := "", "", ""
	for _, c := range orZero(e.Status).Conditions {
		if c.Type == api.EvictionValid {
			valid = string(c.Status)
		} else {
			executed = string(c.Status)
		}
		if c.Type == api.EvictionExecuted || c.Status == metav1.ConditionFalse {
			message = c.Message
		}
	}
	return []Column{
		{"Name", false, e.Name},
		{"Placement", false, e.Spec.PlacementName},
		{"Member", false, e.Spec.ClusterName},
		{"Valid", false, session.OrDash(valid)},
		{"Executed", false, session.OrDash(executed)},
		{"Age", false, session.Since(now, e.CreationTimestamp.Time)},
		{"Message", true, session.OrDash(message)},
	}
}

func budgetColumns(b *api.ClusterResourcePlacementDisruptionBudget, now time.Time) []Column {
	share := func(s *intstr.IntOrString) string {
		if s == nil {
			return "-"
		}
		return s.String()
	}
	return []Column{
		{"Name", false, b.Name},
		{"Max-Unavailable", false, share(b.Spec.MaxUnavailable)},
		{"Min-Available", false, share(b.Spec.MinAvailable)},
		{"Age", false, session.Since(now, b.CreationTimestamp.Time)},
	}
}
