package schedule

import (
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/validate"
)

func TestHopesOfPlacements(t *testing.T) {
	decoded := func(policy string) *api.Placement {
		d, faults := validate.Decode([]byte(`{"apiVersion":"placement.kubernetes-fleet.io/v1","kind":"ClusterResourcePlacement","metadata":{"name":"web"},
			"spec":{"resourceSelectors":[{"group":"","version":"v1","kind":"Namespace","name":"web"}],"policy":` + policy + `}}`))
		require.NoError(t, faults.Err())
		return validate.As[api.Placement](&d)
	}
	fleet := []api.Member{
		{Name: "berlin", Labels: map[string]string{"region": "eu"}, Properties: map[string]string{"example.com/cost": "1"}},
		{Name: "oslo", Properties: map[string]string{api.CanonicalProperty("kubernetes-fleet.io/node-count"): "3"}},
	}
	const affinity = `{"placementType":"PickN","numberOfClusters":2,"affinity":{"clusterAffinity":{
		"requiredDuringSchedulingIgnoredDuringExecution":{"clusterSelectorTerms":[{"propertySelector":{"matchExpressions":[
			{"name":"kubernetes.azure.com/node-count","operator":"Gt","values":["1"]},{"name":"example.com/gpus","operator":"Gt","values":["1"]}]}}]},
		"preferredDuringSchedulingIgnoredDuringExecution":[
			{"weight":1,"preference":{"propertySorter":{"name":"example.com/cost","sortOrder":"Ascending"}}},
			{"weight":1,"preference":{"metricSorter":{"name":"example.com/latency","sortOrder":"Ascending"}}}]}},
		"topologySpreadConstraints":[{"topologyKey":"region"},{"topologyKey":"zone"}]}`
	const at = "spec.policy.affinity.clusterAffinity."
	for name, c := range map[string]struct {
		policy string
		fleet  []api.Member
		want   []string
	}{
		"as many as there are":     {`{"placementType":"PickN","numberOfClusters":2}`, fleet, nil},
		"more than there are":      {`{"placementType":"PickN","numberOfClusters":500}`, fleet, []string{"spec.policy.numberOfClusters: 500 are wanted, and the fleet has 2 members"}},
		"more than the only one":   {`{"placementType":"PickN","numberOfClusters":2}`, fleet[:1], []string{"spec.policy.numberOfClusters: 2 are wanted, and the fleet has 1 member"}},
		"of no fleet":              {`{"placementType":"PickN","numberOfClusters":1}`, nil, []string{"spec.policy.numberOfClusters: 1 are wanted, and the fleet has no member yet"}},
		"every member":             {`{"placementType":"PickAll"}`, nil, nil},
		"a name that nobody has":   {`{"placementType":"PickFixed","clusterNames":["oslo","tokyo"]}`, fleet, []string{"spec.policy.clusterNames[1]: there is no member tokyo yet"}},
		"nothing known of a fleet": {affinity, nil, []string{"spec.policy.numberOfClusters: 2 are wanted, and the fleet has no member yet"}},
		"what no member reports": {affinity, fleet, []string{
			at + "requiredDuringSchedulingIgnoredDuringExecution.clusterSelectorTerms[0].propertySelector.matchExpressions[1].name: no member reports example.com/gpus yet: the term matches none",
			at + "preferredDuringSchedulingIgnoredDuringExecution[1].preference.metricSorter.name: no member reports example.com/latency yet: it sorts nothing",
			"spec.policy.topologySpreadConstraints[1].topologyKey: no member has the label zone yet",
		}},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, Hopes(decoded(c.policy), c.fleet)) })
	}
	require.Nil(t, Hopes(&api.Placement{}, nil))
}
