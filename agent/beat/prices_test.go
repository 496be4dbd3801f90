package beat

import (
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/agent/target"
	"flotilla/core/api"
)

func TestPrices(t *testing.T) {
	catalog := &api.InstanceCatalog{Spec: api.InstanceCatalogSpec{Types: []api.InstanceType{
		{Name: "d4", Offerings: []api.InstanceOffering{
			{Zone: "east-1", CapacityType: "on-demand", Price: 0.2},
			{Zone: "east-1", CapacityType: "spot", Price: 0.05},
			{Zone: "east-2", CapacityType: "on-demand", Price: 0.3},
		}},
		{Name: "d8", Offerings: []api.InstanceOffering{
			{Zone: "1", CapacityType: "on-demand", Price: 0.4},
			{Zone: "2", CapacityType: "on-demand", Price: 0.4},
		}},
	}}}
	price := Prices(catalog)
	for name, c := range map[string]struct {
		node target.Node
		want float64
	}{
		"its zone":                      {target.Node{InstanceType: "d4", Zone: "east-2"}, 0.3},
		"its capacity type":             {target.Node{InstanceType: "d4", Zone: "east-1", CapacityType: "spot"}, 0.05},
		"a zone that is not listed":     {target.Node{InstanceType: "d4", Zone: "east-3"}, 0},
		"one capacity type, one zone":   {target.Node{InstanceType: "d4", Zone: "east-3", CapacityType: "spot"}, 0.05},
		"all zones the same":            {target.Node{InstanceType: "d8", Zone: "east-1"}, 0.4},
		"a capacity type nobody offers": {target.Node{InstanceType: "d8", CapacityType: "reserved"}, 0},
		"a type that is not listed":     {target.Node{InstanceType: "d16"}, 0},
		"no type":                       {target.Node{}, 0},
	} {
		t.Run(name, func(t *testing.T) { require.InDelta(t, c.want, price(&c.node), 1e-9) })
	}
}
