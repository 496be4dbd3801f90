package validate

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/strict"
)

// policyOf is the policy of an override with one rule.
func policyOf(rule string) string { return `"policy": {"overrideRules": [` + rule + `]}` }

func TestRulesOfOverrides(t *testing.T) {
	const (
		fleet    = `"name": "size"`
		shop     = `"name": "size", "namespace": "shop"`
		patch    = `{"jsonPatchOverrides": [{"op": "add", "path": "/data/a", "value": 1}]}`
		objects  = `"resourceSelectors": [{"group": "apps", "version": "v1", "kind": "Deployment", "name": "web"}]`
		spaces   = `"clusterResourceSelectors": [{"group": "", "version": "v1", "kind": "Namespace", "name": "shop"}]`
		cluster  = api.KindClusterResourceOverride
		inSpaces = api.KindResourceOverride
	)
	many := strings.Repeat(`{"labelSelector": {}},`, maxSelectorTerms) + `{"labelSelector": {}}`
	valued := func(n int) string { // a patch with so many values
		return `{"jsonPatchOverrides": [{"op": "add", "path": "/data/a", "value": [` + strings.Repeat("{}, ", n-2) + `{}]}]}`
	}
	for name, c := range map[string]struct {
		kind, meta, spec string
		want             []string
	}{
		"of the fleet":              {cluster, fleet, "{" + spaces + "," + policyOf(patch) + "}", nil},
		"of a namespace":            {inSpaces, shop, "{" + objects + "," + policyOf(patch) + "}", nil},
		"of a placement":            {cluster, fleet, `{"placement": {"name": "web"}, ` + spaces + "," + policyOf(patch) + "}", nil},
		"of a namespaced placement": {inSpaces, shop, `{"placement": {"name": "web", "scope": "Namespaced"}, ` + objects + "," + policyOf(patch) + "}", nil},
		"without a namespace":       {inSpaces, fleet, "{" + objects + "," + policyOf(patch) + "}", []string{"metadata.namespace: found nothing, expected the namespace of the objects that are changed"}},
		"of an unknown scope":       {inSpaces, shop, `{"placement": {"name": "web", "scope": "Odd"}, ` + objects + "," + policyOf(patch) + "}", []string{`spec.placement.scope: found "Odd", expected Cluster or Namespaced`}},
		"deletes":                   {cluster, fleet, "{" + spaces + "," + policyOf(`{"overrideType": "Delete"}`) + "}", nil},
		"of an odd type":            {cluster, fleet, "{" + spaces + "," + policyOf(`{"overrideType": "Odd"}`) + "}", []string{`spec.policy.overrideRules[0].overrideType: found "Odd", expected JSONPatch or Delete`}},
		"without an operation":      {cluster, fleet, "{" + spaces + "," + policyOf(`{"jsonPatchOverrides": [{"path": "/data/a", "value": 1}]}`) + "}", []string{"spec.policy.overrideRules[0].jsonPatchOverrides[0].op: found nothing, expected add, remove or replace"}},
		"as many terms as may be":   {cluster, fleet, "{" + spaces + "," + policyOf(`{"clusterSelector": {"clusterSelectorTerms": [`+strings.TrimPrefix(many, `{"labelSelector": {}},`)+`]}, "overrideType": "Delete"}`) + "}", nil},
		"as many values as may be":  {cluster, fleet, "{" + spaces + "," + policyOf(valued(api.MaxOverrideValues)) + "}", nil},
		"values in several patches": {cluster, fleet, "{" + spaces + "," + policyOf(valued(api.MaxOverrideValues/2)+","+valued(api.MaxOverrideValues/2+1)) + "}", []string{"spec.policy.overrideRules: found patches with 10001 values, expected at most 10000 values in all patches, each item of a list and each field of a map being one; put what is the same for all members into the object itself"}},
		"too many terms":            {cluster, fleet, "{" + spaces + "," + policyOf(`{"clusterSelector": {"clusterSelectorTerms": [`+many+`]}, "overrideType": "Delete"}`) + "}", []string{fmt.Sprintf("spec.policy.overrideRules[0].clusterSelector.clusterSelectorTerms: found a list of %d, expected at most %d terms", maxSelectorTerms+1, maxSelectorTerms)}},
	} {
		require.Equal(t, c.want, stagedFaults(t, c.kind, c.meta, c.spec), name)
	}
}

// The placement that an override is for cannot become another one.
func TestAnOverrideStaysWithItsPlacement(t *testing.T) {
	decode := func(kind, placement string) Decoded {
		meta, selectors := `"name": "size", "namespace": "shop"`, `"resourceSelectors": [{"group": "apps", "version": "v1", "kind": "Deployment", "name": "web"}]`
		if kind == api.KindClusterResourceOverride {
			meta, selectors = `"name": "size"`, `"clusterResourceSelectors": [{"group": "", "version": "v1", "kind": "Namespace", "name": "shop"}]`
		}
		d, faults := Decode([]byte(`{"apiVersion": "placement.kubernetes-fleet.io/v1beta1", "kind": "` + kind + `", "metadata": {` + meta + `}, "spec": {` + placement + selectors + `,` + policyOf(`{"overrideType": "Delete"}`) + `}}`))
		require.Empty(t, faults)
		return d
	}
	const web, api1, spaced = `"placement": {"name": "web"}, `, `"placement": {"name": "api"}, `, `"placement": {"name": "web", "scope": "Namespaced"}, `
	for _, c := range []struct{ kind, was, is, want string }{
		{api.KindClusterResourceOverride, web, web, ""},
		{api.KindClusterResourceOverride, "", "", ""},
		{api.KindClusterResourceOverride, web, api1, "found the ClusterResourcePlacement api, expected the ClusterResourcePlacement web: it cannot change"},
		{api.KindClusterResourceOverride, web, "", "found nothing, expected the ClusterResourcePlacement web"},
		{api.KindResourceOverride, spaced, web, "found the ClusterResourcePlacement web, expected the ResourcePlacement web"},
		{api.KindResourceOverride, spaced, spaced, ""},
	} {
		was, is := decode(c.kind, c.was), decode(c.kind, c.is)
		var faults strict.Faults
		if c.kind == api.KindClusterResourceOverride {
			faults = clusterOverrideChange(As[api.ClusterResourceOverride](&is), As[api.ClusterResourceOverride](&was))
		} else {
			faults = overrideChange(As[api.ResourceOverride](&is), As[api.ResourceOverride](&was))
		}
		if c.want == "" {
			require.Empty(t, faults)
			continue
		}
		require.ErrorContains(t, faults, c.want)
	}
}

func TestValuesOfAPatchAreCounted(t *testing.T) {
	for text, want := range map[string]int{
		`1`: 1, `""`: 1, `null`: 1, `[]`: 1, `{}`: 1, `[ ]`: 1, "{\n}": 1, `[1]`: 2, `[1, 2, 3]`: 4, `[[], {}]`: 3, `[[[]]]`: 3, `{"a": {}}`: 2,
		`{"a": "b", "c": [true, null]}`: 5, `"a, [b], {\"c\": 1}"`: 1, `["\\", "\",", "["]`: 4, `{",": {"[{": []}}`: 3, `[ {"a" : [ 1 , 2 ] } , "x" ]`: 6,
	} {
		require.Equal(t, want, valuesIn([]byte(text)), text)
	}
}
