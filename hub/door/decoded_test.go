package door_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/hub/door"
	"flotilla/subjects"
)

// Whoever applies something costs what that is, whatever is stored beside it: pools, catalogs and overrides are decoded once a revision,
// and of overrides nobody who judges them reads the values. Those are stored that a document may no longer have (H56).
func TestWhatIsStoredIsDecodedOnce(t *testing.T) {
	h := open(t, door.Options{})
	const objects, values = 10, 50_000
	put := func(family subjects.Family, name, apiVersion, kind, spec string) {
		write(h, family, name, api.Spec{
			Header: api.NewHeader(api.KindSpec), UID: "u-" + name, Generation: 1, Object: api.ObjectRef{APIVersion: apiVersion, Kind: kind, Name: name},
			Body: []byte(fmt.Sprintf(`{"apiVersion": %q, "kind": %q, "metadata": {"name": %q}, "spec": %s}`, apiVersion, kind, name, spec)),
		})
	}
	many := func(one string) string { return strings.TrimSuffix(strings.Repeat(one+",", values), ",") }
	for i := range objects {
		name := fmt.Sprint("n", i)
		put(subjects.PoolSpecs, name, "karpenter.sh/v1", api.KindNodePool, `{"template": {"spec": {"requirements": [{"key": "a", "operator": "In", "values": [`+many(`"value"`)+`]}]}}}`)
		put(subjects.InstanceCatalogSpecs, name, api.GroupFlotilla+"/v1alpha1", api.KindInstanceCatalog, `{"types": [`+many(`{"name": "type"}`)+`]}`)
		put(subjects.OverrideSpecs, name, api.PlacementVersion, api.KindClusterResourceOverride, `{"clusterResourceSelectors": [{"group": "", "version": "v1", "kind": "Namespace", "name": "`+name+`"}],
		  "policy": {"overrideRules": [{"clusterSelector": {}, "jsonPatchOverrides": [{"op": "add", "path": "/metadata/labels", "value": [`+many(`{}`)+`]}]}]}}`)
	}
	h.apply(shopNamespace)
	serial := 0
	for name, text := range map[string]string{
		"content":     `{apiVersion: v1, kind: ConfigMap, metadata: {name: small, namespace: shop}, data: {serial: "%d"}}`,
		"a pool":      `{apiVersion: karpenter.sh/v1, kind: NodePool, metadata: {name: small}, spec: {template: {spec: {requirements: [{key: a, operator: In, values: [v%d]}]}}}}`,
		"a catalog":   `{apiVersion: flotilla.io/v1alpha1, kind: InstanceCatalog, metadata: {name: small}, spec: {types: [{name: t%d, cpu: "2", memory: 8Gi, offerings: []}]}}`,
		"an override": strings.ReplaceAll(override("small", "ConfigMap", "x"), `"x"`, `"v%d"`),
	} {
		apply := func() {
			serial++
			require.NotEqual(t, api.ActionUnchanged, h.apply(fmt.Sprintf(text, serial))[0].Action)
		}
		apply()
		require.Less(t, testing.AllocsPerRun(2, apply), float64(objects*values/5), name)
	}
}
