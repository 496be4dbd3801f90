package conformance

import (
	"fmt"
	"slices"

	"flotilla/core/api"
	"flotilla/core/disruption"
)

// lacksSpot reports the input of N6: a pool that may buy spot as well as on-demand, and a type it admits that
// nobody sells as spot.
func (c *consolidationCase) lacksSpot() bool {
	return slices.ContainsFunc(c.NodePools, func(p recordedPool) bool {
		return p.admits(api.LabelCapacityType, api.CapacitySpot) && p.admits(api.LabelCapacityType, api.CapacityOnDemand) &&
			slices.ContainsFunc(c.InstanceTypes, func(t api.InstanceType) bool {
				return (p.InstanceTypes == nil || slices.Contains(p.InstanceTypes, t.Name)) && !soldAs(&t, api.CapacitySpot, nil)
			})
	})
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
