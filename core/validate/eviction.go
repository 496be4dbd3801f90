package validate

import (
	"flotilla/core/api"
	"flotilla/core/strict"
)

func evictionRules(e *api.ClusterResourcePlacementEviction) (rules, []string) {
	f := outsideRules(api.KindEviction, e)
	f.Subdomain(e.Name, strict.At("metadata.name"))
	f.Subdomain(e.Spec.PlacementName, strict.At("spec.placementName"))
	f.Label(e.Spec.ClusterName, strict.At("spec.clusterName"))
	return f, annotationNotes(e.Annotations)
}

// evictionChange refuses to make another request of one that may have been carried out.
func evictionChange(is, was *api.ClusterResourcePlacementEviction) strict.Faults {
	f := newRules()
	for _, field := range [][3]string{
		{"spec.placementName", is.Spec.PlacementName, was.Spec.PlacementName}, {"spec.clusterName", is.Spec.ClusterName, was.Spec.ClusterName},
	} {
		if field[1] != field[2] {
			f.Add(strict.At(field[0]), strict.Shown(field[1]), field[2]+": an eviction is asked for once and cannot change; give another one a name of its own", nil)
		}
	}
	return f.Faults(api.KindEviction + "/" + is.Name)
}

func budgetRules(b *api.ClusterResourcePlacementDisruptionBudget) (rules, []string) {
	f, spec := outsideRules(api.KindDisruptionBudget, b), strict.At("spec")
	f.Subdomain(b.Name, strict.At("metadata.name"))
	switch most, least := b.Spec.MaxUnavailable, b.Spec.MinAvailable; {
	case most == nil && least == nil:
		f.Add(spec, "neither maxUnavailable nor minAvailable", "one of the two", nil)
	case most != nil && least != nil:
		f.Add(spec.Child("minAvailable"), strict.Quote(least.String()), "nothing beside maxUnavailable: a budget is one of the two", nil)
	}
	f.share(b.Spec.MaxUnavailable, spec.Child("maxUnavailable"))
	f.share(b.Spec.MinAvailable, spec.Child("minAvailable"))
	return f, annotationNotes(b.Annotations)
}
