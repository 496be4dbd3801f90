package show

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/phrase"
	"flotilla/hub/flotilla/cli/session"
)

func clusterOverrideColumns(o *api.ClusterResourceOverride, now time.Time) []Column {
	return columnsOfOverride(&o.ObjectMeta, o.Spec.Placement.Any(), o.Spec.ClusterResourceSelectors, &o.Spec.Policy, now)
}

func overrideColumns(o *api.ResourceOverride, now time.Time) []Column {
	return columnsOfOverride(&o.ObjectMeta, o.Spec.Placement, o.Spec.ResourceSelectors, &o.Spec.Policy, now)
}

// shownObjects is how many of the objects of an override a row names.
const shownObjects = 2

func columnsOfOverride(meta *metav1.ObjectMeta, placement *api.OverridePlacement, selectors []api.OverrideSelector, policy *api.OverridePolicy, now time.Time) []Column {
	names := make([]string, len(selectors))
	for i := range selectors {
		names[i] = selectors[i].String()
	}
	return []Column{
		{"Name", false, meta.Name},
		{"Objects", false, phrase.List(names, shownObjects)},
		{"Rules", false, len(policy.OverrideRules)},
		{"Placement", false, session.OrDash(orZero(placement).Name)},
		{"Age", false, session.Since(now, meta.CreationTimestamp.Time)},
	}
}
