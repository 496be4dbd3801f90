package records

import (
	"flotilla/bus/store"
	"flotilla/core/api"
)

// Inside are the names of what lies in namespaces and is not being deleted, sorted.
type Inside struct{ Placements, Objects, Overrides []string }

// Inside finds what lies in some namespaces: one look for all of them.
func (r *Tables) Inside(namespaces map[string]bool) (in Inside) {
	if len(namespaces) == 0 {
		return in
	}
	in.Placements, in.Objects, in.Overrides = inside(r.Placements, namespaces), inside(r.Objects, namespaces), inside(r.Specs[api.KindResourceOverride], namespaces)
	return in
}

func inside(table *store.Records[api.Spec], namespaces map[string]bool) []string {
	return table.NamesWhere(func(spec *api.Spec) bool {
		return spec.Deleted == nil && spec.Object.Namespace != "" && namespaces[spec.Object.Namespace]
	})
}

// Strangers names, of each of some namespaces, something in it that is not of a set.
func (r *Tables) Strangers(namespaces map[string]bool, set string) map[string]api.Spec {
	found := map[string]api.Spec{}
	for _, table := range []*store.Records[api.Spec]{r.Objects, r.Placements, r.Specs[api.KindResourceOverride]} {
		for _, name := range table.NamesWhere(func(spec *api.Spec) bool { return namespaces[spec.Object.Namespace] && spec.Set != set }) {
			spec, _, there := table.Get(name)
			if _, known := found[spec.Object.Namespace]; there && !known {
				found[spec.Object.Namespace] = spec
			}
		}
	}
	return found
}
