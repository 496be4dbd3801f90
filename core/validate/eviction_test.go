package validate_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/validate"
)

// What is wrong with evictions and budgets is told all at once, by path; KubeFleet's are accepted in both versions.
func TestRulesOfEvictionsAndBudgets(t *testing.T) {
	const eviction, budget = `{"apiVersion":"placement.kubernetes-fleet.io/v1beta1","kind":"ClusterResourcePlacementEviction",`,
		`{"apiVersion":"placement.kubernetes-fleet.io/v1","kind":"ClusterResourcePlacementDisruptionBudget",`
	for document, paths := range map[string][]string{
		eviction + `"metadata":{"name":"e"},"spec":{"placementName":"web","clusterName":"berlin"},"status":{"conditions":[]}}`: nil,
		eviction + `"metadata":{"name":"e"},"spec":{}}`:                                                          {"spec.placementName", "spec.clusterName"},
		eviction + `"metadata":{"name":"E","namespace":"x"},"spec":{"placementName":"We","clusterName":"a.b"}}`:  {"metadata.namespace", "metadata.name", "spec.placementName", "spec.clusterName"},
		eviction + `"metadata":{"name":"e"},"spec":{"placementName":"web","clusterName":"berlin","force":true}}`: {"spec.force"},
		budget + `"metadata":{"name":"web"},"spec":{"maxUnavailable":"25%"}}`:                                    nil,
		budget + `"metadata":{"name":"web"},"spec":{"minAvailable":0}}`:                                          nil,
		budget + `"metadata":{"name":"web"},"spec":{}}`:                                                          {"spec"},
		budget + `"metadata":{"name":"web"},"spec":{"maxUnavailable":1,"minAvailable":1}}`:                       {"spec.minAvailable"},
		budget + `"metadata":{"name":"web"},"spec":{"maxUnavailable":"101%"}}`:                                   {"spec.maxUnavailable"},
		budget + `"metadata":{"name":"web"},"spec":{"minAvailable":-1}}`:                                         {"spec.minAvailable"},
		budget + `"metadata":{"name":"web"},"spec":{"minAvailable":"3"}}`:                                        {"spec.minAvailable"},
	} {
		_, faults := validate.Decode([]byte(document))
		var found []string
		for _, fault := range faults {
			found = append(found, fault.Path)
		}
		require.ElementsMatch(t, paths, found, "%s: %v", document, faults)
	}
}

// An eviction may have been carried out: another one needs a name of its own.
func TestAnEvictionCannotChange(t *testing.T) {
	document := func(placement, member string) []byte {
		return []byte(`{"apiVersion":"placement.kubernetes-fleet.io/v1","kind":"ClusterResourcePlacementEviction","metadata":{"name":"e"},"spec":{"placementName":"` + placement + `","clusterName":"` + member + `"}}`)
	}
	read := func(placement, member string) validate.Decoded {
		d, faults := validate.Decode(document(placement, member))
		require.NoError(t, faults.Err())
		return d
	}
	first := read("web", "berlin")
	stored := &api.Spec{Object: first.Object, Body: document("web", "berlin")}
	require.Empty(t, validate.Change(stored, &first))
	other := read("shop", "oslo")
	faults := validate.Change(stored, &other)
	require.Len(t, faults, 2)
	require.Equal(t, "spec.placementName", faults[0].Path)
	require.Equal(t, "spec.clusterName", faults[1].Path)
}
