package capacity

import (
	"maps"
	"slices"

	"flotilla/core/api"
	"flotilla/core/validate"
)

// SharedBudget is a budget over all members whose pools name it in the annotation flotilla.io/fleet-budget (N11).
type SharedBudget struct {
	Name string
	// Amounts are those that its pools state; what allows least counts.
	Amounts []string
	Pools   []string
}

// SharedBudgets are the fleet-wide budgets that some pools name, sorted by name.
func SharedBudgets(pools []*api.NodePool) []SharedBudget {
	byName := map[string]*SharedBudget{}
	for _, p := range pools {
		name, amount, ok := validate.FleetBudget(p.Annotations[api.AnnotationFleetBudget])
		if !ok {
			continue
		}
		b := byName[name]
		if b == nil {
			b = &SharedBudget{Name: name}
			byName[name] = b
		}
		b.Pools = append(b.Pools, p.Name)
		if !slices.Contains(b.Amounts, amount) {
			b.Amounts = append(b.Amounts, amount)
		}
	}
	var out []SharedBudget
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		out = append(out, *byName[name])
	}
	return out
}

// SharedWith are the fleet-wide budgets that some of own name, over all pools.
func SharedWith(own, all []*api.NodePool) []SharedBudget {
	named := SharedBudgets(own)
	return slices.DeleteFunc(SharedBudgets(all), func(b SharedBudget) bool {
		return !slices.ContainsFunc(named, func(o SharedBudget) bool { return o.Name == b.Name })
	})
}

// Covers reports whether some of the pools share the budget.
func (b *SharedBudget) Covers(pools []string) bool {
	return slices.ContainsFunc(b.Pools, func(p string) bool { return slices.Contains(pools, p) })
}
