package draft

import (
	"flotilla/core/api"
	"flotilla/core/eviction"
	"flotilla/core/validate"
)

// noteBudgets says of disruption budgets what is remarkable about them beside the placements of their names.
func (f *Draft) noteBudgets() {
	for _, doc := range f.typed {
		b := validate.As[api.ClusterResourcePlacementDisruptionBudget](&doc.Decoded)
		if b == nil {
			continue
		}
		if remark := eviction.Remark(f.clusterPlacement(b.Name), &b.Spec); remark != "" {
			f.note(doc.Object, remark)
		}
	}
}

// clusterPlacement is a ClusterResourcePlacement as it would be, nil when there would be none that can be read.
func (f *Draft) clusterPlacement(name string) *api.Placement {
	if p, changed := f.placements[name]; changed {
		return p
	}
	stored, _, found := f.records.Placements.Get(name)
	p, err := api.SpecOf[api.Placement](&stored)
	if !found || err != nil {
		return nil
	}
	return p
}

// Foresee notes what would come, as all stands, of the evictions that the draft asks for, and of the drains.
func (f *Draft) Foresee(evicted func(*api.PlacementEvictionSpec) string, drained func(member string) []string) {
	for _, doc := range f.typed {
		switch value := doc.Value.(type) {
		case *api.ClusterResourcePlacementEviction:
			f.note(doc.Object, evicted(&value.Spec))
		case *api.MemberCluster:
			if api.Draining(value.Spec.Taints) {
				f.note(doc.Object, drained(value.Name)...)
			}
		}
	}
}
