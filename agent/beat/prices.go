package beat

import (
	"flotilla/agent/target"
	"flotilla/core/api"
)

// Prices returns what a node costs per hour by a catalog: what its type costs in its zone and capacity type (on-demand when
// it has none), or in all zones when that is the same. 0 when the catalog does not say.
func Prices(catalog *api.InstanceCatalog) func(*target.Node) float64 {
	types := map[string]*api.InstanceType{}
	for i := range catalog.Spec.Types {
		types[catalog.Spec.Types[i].Name] = &catalog.Spec.Types[i]
	}
	return func(n *target.Node) float64 {
		known := types[n.InstanceType]
		if known == nil {
			return 0
		}
		return priceOf(known, n)
	}
}

func priceOf(known *api.InstanceType, n *target.Node) float64 {
	capacity := n.CapacityType
	if capacity == "" {
		capacity = api.CapacityOnDemand
	}
	anywhere, differ := 0.0, false
	for i := range known.Offerings {
		o := &known.Offerings[i]
		switch price := float64(o.Price); {
		case o.CapacityType != capacity:
		case o.Zone == n.Zone:
			return price
		case anywhere == 0:
			anywhere = price
		default:
			differ = differ || price != anywhere
		}
	}
	if differ {
		return 0
	}
	return anywhere
}
