package beat

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/agent/target"
)

const azureNode = "azure:///subscriptions/8ECADFC9-D1A3/resourceGroups/MC_shop_east_eastus/providers/Microsoft.Compute/virtualMachineScaleSets/np1/virtualMachines/0"

func TestWhereabouts(t *testing.T) {
	for name, c := range map[string]struct {
		nodes []target.Node
		want  map[string]string
	}{
		"no nodes":               {nil, map[string]string{}},
		"nodes that say nothing": {[]target.Node{{}, {}}, map[string]string{}},
		"a zone of nowhere":      {[]target.Node{{Zone: "east-1"}}, map[string]string{}},
		"one region, two zones": {
			[]target.Node{{Region: "east", Zone: "east-1"}, {Region: "east", Zone: "east-2"}},
			map[string]string{"topology.kubernetes.io/region": "east", "fleet.azure.com/location": "east"},
		},
		"one zone": {
			[]target.Node{{Region: "east", Zone: "east-1"}, {Region: "east", Zone: "east-1"}},
			map[string]string{"topology.kubernetes.io/region": "east", "fleet.azure.com/location": "east", "topology.kubernetes.io/zone": "east-1"},
		},
		"two regions":                    {[]target.Node{{Region: "east"}, {Region: "west"}}, map[string]string{}},
		"a node that does not say which": {[]target.Node{{Region: "east"}, {}}, map[string]string{}},
		"azure, in either spelling": {
			[]target.Node{{ProviderID: azureNode}, {ProviderID: strings.ToLower(azureNode)}},
			map[string]string{"fleet.azure.com/subscription-id": "8ecadfc9-d1a3", "fleet.azure.com/resource-group": "mc_shop_east_eastus"},
		},
		"a group that is no label": {
			[]target.Node{{ProviderID: "azure:///subscriptions/s1/resourceGroups/(shop)/providers/x"}},
			map[string]string{"fleet.azure.com/subscription-id": "s1"},
		},
		"others":       {[]target.Node{{ProviderID: "aws:///us-east-1a/i-0abc"}, {ProviderID: "gce://p/z/n"}}, map[string]string{}},
		"not a prefix": {[]target.Node{{ProviderID: "x" + azureNode}}, map[string]string{}},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, Whereabouts(c.nodes)) })
	}
}
