package validate

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/strict"
)

const crpHead = "apiVersion: placement.kubernetes-fleet.io/v1\nkind: ClusterResourcePlacement\nmetadata: {name: web}\nspec:\n" +
	"  resourceSelectors: [{group: '', version: v1, kind: Namespace, name: web}]\n"

// TestOneFaultHidesNoOther makes a word wrong on which the meaning of the fields beside it depends, and
// something wrong in each of those: all of it is found at once.
func TestOneFaultHidesNoOther(t *testing.T) {
	for name, c := range map[string]struct {
		doc   string
		paths string
	}{
		"placementType, misspelt": {
			crpHead + "  policy:\n    placementType: pickn\n    numberOfClusters: -1\n    clusterNames: [a]\n    tolerations: [{key: a b, operator: Exists}]\n" +
				"    topologySpreadConstraints: [{topologyKey: '', maxSkew: 0}]\n    affinity: {clusterAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 101, preference: {}}]}}\n",
			"spec.policy.placementType spec.policy.clusterNames spec.policy.numberOfClusters " +
				"spec.policy.affinity.clusterAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight " +
				"spec.policy.topologySpreadConstraints[0].topologyKey spec.policy.topologySpreadConstraints[0].maxSkew spec.policy.tolerations[0].key",
		},
		"placementType, beyond guessing": {
			crpHead + "  policy: {placementType: Everywhere, numberOfClusters: -1, clusterNames: [A_B], tolerations: [{key: a b}]}\n",
			"spec.policy.placementType spec.policy.clusterNames[0] spec.policy.numberOfClusters spec.policy.tolerations[0].key",
		},
		"operator of a toleration": {
			crpHead + "  policy: {tolerations: [{key: a b, operator: exist, value: x, effect: NoExecute}]}\n",
			"spec.policy.tolerations[0].operator spec.policy.tolerations[0].key spec.policy.tolerations[0].value spec.policy.tolerations[0].effect",
		},
		"operator of a node requirement": {
			poolHead + "spec: {template: {spec: {requirements: [{key: a, operator: Inn, minValues: 51}]}}}\n",
			"spec.template.spec.requirements[0].operator spec.template.spec.requirements[0].values spec.template.spec.requirements[0].minValues",
		},
		"type of a gate": {
			ringsHead + "  stages: [{name: s, groups: [{name: g}], beforeGates: [{type: Manual, scheduledStartConfiguration: {startDay: Never, startTime: '2', utcOffset: x}}]}]\n",
			"spec.stages[0].beforeGates[0].type spec.stages[0].beforeGates[0].scheduledStartConfiguration.startDay " +
				"spec.stages[0].beforeGates[0].scheduledStartConfiguration.startTime spec.stages[0].beforeGates[0].scheduledStartConfiguration.utcOffset",
		},
		"a gate where none may be": {
			ringsHead + "  stages: [{name: s, groups: [{name: g}], afterGates: [{type: ScheduledStart, displayName: '" + strings.Repeat("n", 101) + "'}]}]\n",
			"spec.stages[0].afterGates[0].type spec.stages[0].afterGates[0].displayName",
		},
		"channel": {
			profileHead + "  channel: nodeimage\n  nodeImageSelection: {type: Latest}\n  targetKubernetesVersion: '1.29'\n",
			"spec.channel spec.nodeImageSelection spec.targetKubernetesVersion",
		},
		"type of an upgrade": {
			runHead + "  upgrade: {type: nodeimageonly, kubernetesVersion: 1.29.9, nodeImageSelection: {type: custom}}\n",
			"spec.upgrade.type spec.upgrade.kubernetesVersion spec.upgrade.nodeImageSelection.type spec.upgrade.nodeImageSelection.customNodeImageVersions",
		},
		"kind": {
			strings.Replace(crpHead, "kind: ClusterResourcePlacement", "kind: ClusterResourcePlacemnt", 1) + "  stratgy: {}\n  policy: {placementType: PickN}\n",
			"kind spec.stratgy spec.policy.numberOfClusters",
		},
		"no apiVersion": {
			strings.Replace(crpHead, "apiVersion: placement.kubernetes-fleet.io/v1\n", "", 1) + "  policy: {placementType: PickN}\n",
			"apiVersion spec.policy.numberOfClusters",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, found := decodeYAML(t, c.doc)
			var paths []string
			for _, line := range found {
				at, _, _ := strings.Cut(line, ": found")
				paths = append(paths, at)
			}
			require.ElementsMatch(t, strings.Fields(c.paths), paths, strings.Join(found, "\n"))
		})
	}
}

func TestKindsOfFaults(t *testing.T) {
	_, faults := Decode([]byte(`{"apiVersion":"placement.kubernetes-fleet.io/v1","kind":"ClusterResourcePlacement","metadata":{"name":"web"},"kind":"x",
		"spec":{"resourceSelectors":[{"group":"","version":"v1","kind":"Namespace"}],"stratgy":{},"revisionHistoryLimit":{},
		"policy":{"placementType":"PickN","clusterNames":["a"],"topologySpreadConstraints":[{"topologyKey":"a b"}]}}}`))
	kinds := map[string]strict.FaultKind{}
	for _, f := range faults {
		kinds[f.Path] = f.Kind
	}
	require.Equal(t, map[string]strict.FaultKind{
		"kind": strict.FaultDuplicate, "spec.stratgy": strict.FaultUnknown, "spec.revisionHistoryLimit": strict.FaultType, "spec.policy.clusterNames": strict.FaultMisplaced,
		"spec.policy.numberOfClusters": strict.FaultMissing, "spec.policy.topologySpreadConstraints[0].topologyKey": strict.FaultValue,
	}, kinds)
	_, faults = Decode([]byte(`{`))
	require.Equal(t, strict.FaultSyntax, faults[0].Kind)
	require.Equal(t, strict.FaultMissing, strict.Fault{Found: "nothing"}.Sort())
	require.Equal(t, strict.FaultValue, strict.Fault{Found: `"x"`}.Sort())
}

func TestPathsAreReadAsTheyAreWritten(t *testing.T) {
	var root *strict.Place
	for _, at := range []*strict.Place{
		root.Child("kind"), root.In("spec", "policy"), root.In("spec", "stages").Item(3).Child("name"),
		root.In("metadata", "labels", "example.com/a.b[0]\"x"), root.Child("a").Item(0).Item(12), root.In("metadata", "labels", ""),
	} {
		require.Equal(t, at, strict.At(at.String()), at.String())
	}
	require.Empty(t, strict.Steps(""))
	require.Equal(t, []strict.Step{{Name: "a", Index: -1}}, strict.Steps("a[x].b"), "what cannot be read ends it")
}
