package conformance

import (
	"fmt"
	"slices"
	"strings"

	"flotilla/core/api"
	"flotilla/core/disruption"
)

// lacksSpot reports the input of N6: a pool that may buy spot as well as on-demand, and a type it admits that
// nobody sells as spot.
func (c *consolidationCase) lacksSpot() bool {
	return slices.ContainsFunc(c.NodePools, func(p recordedPool) bool {
		return p.admitsBoth() &&
			slices.ContainsFunc(c.InstanceTypes, func(t api.InstanceType) bool { return p.sells(&t) && !soldAs(&t, api.CapacitySpot, nil) })
	})
}

// lacksSpotInAZone reports the input of N26: a pool that may buy spot as well as on-demand, and a type it admits
// that is sold in some zone, but there not as spot.
func (c *consolidationCase) lacksSpotInAZone() bool {
	return slices.ContainsFunc(c.NodePools, func(p recordedPool) bool {
		return p.admitsBoth() &&
			slices.ContainsFunc(c.InstanceTypes, func(t api.InstanceType) bool {
				return p.sells(&t) && slices.ContainsFunc(t.Offerings, func(o api.InstanceOffering) bool {
					return o.IsAvailable() && !soldAs(&t, api.CapacitySpot, []string{o.Zone})
				})
			})
	})
}

// sells reports whether the provider sells a type to a pool.
func (r *recordedPool) sells(t *api.InstanceType) bool {
	return r.InstanceTypes == nil || slices.Contains(r.InstanceTypes, t.Name)
}

// admits reports whether the requirements of a pool let a label have a value.
func (r *recordedPool) admits(key, value string) bool {
	for i := range r.Requirements {
		one := &r.Requirements[i]
		listed := slices.Contains(one.Values, value)
		if one.Key == key && (one.Operator == "In" && !listed || one.Operator == "NotIn" && listed || one.Operator == "DoesNotExist") {
			return false
		}
	}
	return true
}

// soldAs reports whether a type can be bought with a capacity type now, in one of some zones; nil is any.
func soldAs(t *api.InstanceType, capacityType string, zones []string) bool {
	return slices.ContainsFunc(t.Offerings, func(o api.InstanceOffering) bool {
		return o.IsAvailable() && o.CapacityType == capacityType && (zones == nil || slices.Contains(zones, o.Zone))
	})
}

// boughtAsNobodySells says which replacement breaks N26: it is restricted to a capacity type in which none of its
// types is sold, or to none at all, or its price is not among those for which they are sold so.
func (c *consolidationCase) boughtAsNobodySells(got *disruption.Decision) string {
	for i := range got.Commands {
		command := &got.Commands[i]
		if command.Method != disruption.MethodMulti && command.Method != disruption.MethodSingle || len(command.Replacements) == 0 {
			continue
		}
		r := &replacementsHere(command.Replacements)[0]
		for _, kind := range r.CapacityTypes {
			if len(c.prices(r, []string{kind})) == 0 {
				return fmt.Sprintf("the replacement may be %s, and nobody sells any of its types so", kind)
			}
		}
		affine := slices.ContainsFunc(c.Pods, func(p recordedPod) bool { return p.Affinity != nil })
		both := slices.ContainsFunc(c.NodePools, func(p recordedPool) bool { return p.Name == r.NodePool && p.admitsBoth() })
		if both && !affine && r.CapacityTypes == nil {
			return "the replacement is not restricted to how it is sold"
		}
		old := 0.0
		for _, n := range command.Nodes {
			old += c.price(n)
		}
		if !slices.ContainsFunc(c.prices(r, r.CapacityTypes), func(p float64) bool { return sameAmount(command.Savings.Amount, old-p) }) {
			return fmt.Sprintf("the replacement saves %v of %v, which is the difference to no price for which it is sold", command.Savings.Amount, old)
		}
	}
	return ""
}

// admitsBoth reports whether a pool may buy spot as well as on-demand.
func (r *recordedPool) admitsBoth() bool {
	return r.admits(api.LabelCapacityType, api.CapacitySpot) && r.admits(api.LabelCapacityType, api.CapacityOnDemand)
}

// prices are those for which the types of a replacement can be bought now, with some capacity types; nil is any.
func (c *consolidationCase) prices(r *recordedReplacement, kinds []string) []float64 {
	var out []float64
	for _, name := range r.InstanceTypes {
		for _, o := range c.machine(name).Offerings {
			if o.IsAvailable() && (kinds == nil || slices.Contains(kinds, o.CapacityType)) && (r.Zones == nil || slices.Contains(r.Zones, o.Zone)) {
				out = append(out, float64(o.Price))
			}
		}
	}
	return out
}

// price is what a node costs, 0 where nobody says.
func (c *consolidationCase) price(node string) float64 {
	for i := range c.Nodes {
		n := &c.Nodes[i]
		if n.Name != node {
			continue
		}
		for _, o := range c.machine(n.InstanceType).Offerings {
			if o.Zone == n.Zone && o.CapacityType == n.CapacityType {
				return float64(o.Price)
			}
		}
	}
	return 0
}

// ordered puts those types of replacements that nobody sells so behind the others, by name: that types stand
// cheapest first says nothing of types without a price.
func (c *consolidationCase) ordered(in []recordedReplacement) []recordedReplacement {
	out := append([]recordedReplacement{}, in...)
	for i := range out {
		sold := func(name string) bool {
			one := recordedReplacement{InstanceTypes: []string{name}, Zones: out[i].Zones}
			return len(c.prices(&one, out[i].CapacityTypes)) > 0
		}
		types := slices.Clone(out[i].InstanceTypes)
		slices.SortStableFunc(types, func(a, b string) int {
			switch {
			case sold(a) && sold(b):
				return 0
			case sold(a):
				return -1
			case sold(b):
				return 1
			}
			return strings.Compare(a, b)
		})
		out[i].InstanceTypes = types
	}
	return out
}

// pinnedToNothing says which replacement breaks N6: it is pinned to spot and one of its types is not sold
// so, or it is not pinned although one is.
func (c *consolidationCase) pinnedToNothing(got *disruption.Decision) string {
	for _, command := range got.Commands {
		if command.Method != disruption.MethodMulti && command.Method != disruption.MethodSingle {
			continue
		}
		for _, r := range command.Replacements {
			pinned := slices.Equal(r.CapacityTypes, []string{api.CapacitySpot})
			for _, name := range r.InstanceTypes {
				t := c.machine(name)
				switch spot := soldAs(&t, api.CapacitySpot, r.Zones); {
				case pinned && !spot:
					return fmt.Sprintf("the replacement is pinned to spot, and nobody sells %s so", name)
				case !pinned && spot && r.CapacityTypes == nil:
					return fmt.Sprintf("the replacement is not pinned to spot, and %s is sold so", name)
				}
			}
		}
	}
	return ""
}
