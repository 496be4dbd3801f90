package validate

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"

	"flotilla/core/api"
	"flotilla/core/strict"
)

func TestKnown(t *testing.T) {
	for _, kind := range []string{"placement.kubernetes-fleet.io/v1 ClusterResourcePlacement", "placement.kubernetes-fleet.io/v1beta1 ResourcePlacement", "cluster.kubernetes-fleet.io/v1 MemberCluster", "flotilla.io/v1alpha1 UpdateRun", "flotilla.io/v1alpha1 Gate"} {
		apiVersion, kind, _ := strings.Cut(kind, " ")
		require.True(t, Known(apiVersion, kind), kind)
	}
	for _, kind := range []string{"v1 ClusterResourcePlacement", "placement.kubernetes-fleet.io/v1alpha1 ClusterResourcePlacement", "cluster.kubernetes-fleet.io/v1 ClusterResourcePlacement", "v1 ConfigMap", "flotilla.io/v1 UpdateRun", "traffic.example.com/v1 Gate", " ", "/v1 "} {
		apiVersion, kind, _ := strings.Cut(kind, " ")
		require.False(t, Known(apiVersion, kind), kind)
	}
}

func TestVersionsAndKindsThatAreNotKnown(t *testing.T) {
	checkRules(t, "", []rule{
		{"an old version, and the rest is looked at too", "apiVersion: placement.kubernetes-fleet.io/v1alpha1\nkind: ClusterResourcePlacement\nmetadata: {name: web}\nspec: {policy: {placementType: PickN}}\n", []string{
			`apiVersion: found "placement.kubernetes-fleet.io/v1alpha1", expected placement.kubernetes-fleet.io/v1 or placement.kubernetes-fleet.io/v1beta1`,
			"spec.resourceSelectors: found nothing, expected at least one resource selector",
			"spec.policy.numberOfClusters: found nothing, expected the number of members wanted, 0 or more, because placementType is PickN",
		}},
		{"a known kind of another group", "apiVersion: fleet.example.com/v1\nkind: MemberCluster\nmetadata: {name: a}\n", []string{
			`apiVersion: found "fleet.example.com/v1", expected cluster.kubernetes-fleet.io/v1 or cluster.kubernetes-fleet.io/v1beta1`,
		}},
		{"a kind of our groups that is not built", "apiVersion: placement.kubernetes-fleet.io/v1\nkind: ClusterResourceBinding\nmetadata: {name: a, labels: {tier: 1}}\n", []string{
			`kind: found "ClusterResourceBinding", expected a kind that is supported: ApprovalRequest, AutoUpgradeProfile, ClusterApprovalRequest, ClusterResourceEnvelope, ClusterResourceOverride, ClusterResourcePlacement, ClusterResourcePlacementDisruptionBudget, ClusterResourcePlacementEviction, ClusterStagedUpdateRun, ClusterStagedUpdateStrategy, Gate, InstanceCatalog, MemberCluster, MemberMaintenance, NodePool, ResourceEnvelope, ResourceOverride, ResourcePlacement, RolloutCheck, StagedUpdateRun, StagedUpdateStrategy, UpdateRun, UpdateStrategy, VersionCatalog`,
			`metadata.labels.tier: found number 1, expected a string, "1"`,
		}},
		{"a kind misspelt", "apiVersion: placement.kubernetes-fleet.io/v1\nkind: ClusterresourcePlacment\nmetadata: {name: a}\nspec: {resourceSelectors: [{group: '', version: v1, kind: Namespace}]}\n", []string{
			`kind: found "ClusterresourcePlacment", expected ClusterResourcePlacement (did you mean that?)`,
		}},
	})
}

func TestFaultsNameTheirObject(t *testing.T) {
	for doc, want := range map[string]string{
		`{"apiVersion":"placement.kubernetes-fleet.io/v1","kind":"ClusterResourcePlacement","metadata":{"name":"web"}}`:             "ClusterResourcePlacement/web",
		`{"apiVersion":"placement.kubernetes-fleet.io/v1","kind":"ResourcePlacement","metadata":{"name":"web","namespace":"shop"}}`: "ResourcePlacement/shop/web",
		`{"apiVersion":"placement.kubernetes-fleet.io/v1","kind":"ClusterResourcePlacement"}`:                                       "ClusterResourcePlacement",
		`[]`: "",
	} {
		_, faults := Decode([]byte(doc))
		require.NotEmpty(t, faults)
		for _, f := range faults {
			require.Equal(t, want, f.Object)
		}
	}
}

func TestSizeIsBounded(t *testing.T) {
	big := []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"x":"` + strings.Repeat("x", MaxObjectBytes) + `"}}`)
	_, faults := Decode(big)
	require.Len(t, faults, 1)
	require.Contains(t, faults[0].String(), "expected at most 921600 bytes")
}

func TestWhatKubectlRemembersIsLeftOut(t *testing.T) {
	d, faults := decodeYAML(t, strings.Replace(crp, "{name: web}", `{name: web, annotations: {kubectl.kubernetes.io/last-applied-configuration: "{}", a: b}}`, 1)+selectors)
	require.Empty(t, faults)
	require.Equal(t, map[string]string{"a": "b"}, As[api.Placement](&d).Annotations)
	require.Empty(t, d.DropServerSet())
}

func TestFaultsAreBoundedAndQuicklyFound(t *testing.T) {
	many := func(item string) string { return strings.TrimSuffix(strings.Repeat(item+",", 25_000), ",") }
	numbered := func(format string) string {
		items := make([]string, 10_000)
		for i := range items {
			items[i] = fmt.Sprintf(format, i)
		}
		return strings.Join(items, ",")
	}
	head := `{"apiVersion":"placement.kubernetes-fleet.io/v1","kind":"ClusterResourcePlacement","metadata":{"name":"web"},`
	for name, doc := range map[string]string{
		"empty selectors":  head + `"spec":{"resourceSelectors":[` + many(`{}`) + `]}}`,
		"unknown fields":   head + `"spec":{` + numbered(`"policx%d":1`) + `}}`,
		"duplicate fields": head + `"spec":{` + many(`"a":1`) + `}}`,
		"odd labels":       strings.Replace(head, `"web"`, `"web","labels":{`+numbered(`"%d":1`)+`}`, 1) + `"spec":{}}`,
		"odder labels":     strings.Replace(head, `"web"`, `"web","labels":{`+numbered(`"%d":"-"`)+`}`, 1) + `"spec":{}}`,
		"tolerations":      head + `"spec":{"policy":{"tolerations":[` + many(`{}`) + `]}}}`,
		"names":            head + `"spec":{"policy":{"placementType":"PickFixed","clusterNames":[` + many(`"-"`) + `]}}}`,
		"contradictions": head + `"spec":{"policy":{"affinity":{"clusterAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"clusterSelectorTerms":[{"propertySelector":{"matchExpressions":[` +
			strings.TrimSuffix(strings.Repeat(`{"name":"a","operator":"Ne","values":["1"]},{"name":"a","operator":"Eq","values":["1"]},`, 2000), ",") + `]}}]}}}}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			require.LessOrEqual(t, len(doc), MaxObjectBytes)
			d, faults := Decode([]byte(doc))
			require.NotEmpty(t, faults)
			require.LessOrEqual(t, len(faults), strict.MaxFindings+1)
			if len(faults) > strict.MaxFindings {
				require.Equal(t, "more faults than are listed", faults[strict.MaxFindings].Found)
			}
			require.Empty(t, d.Corrected)
		})
	}
}

func TestNoDocumentBreaksTheDecoder(t *testing.T) {
	strangers := []any{nil, true, "text", json.Number("1"), []any{}, []any{nil}, []any{map[string]any{}}, map[string]any{}, map[string]any{"zzzzzzzz": nil}}
	corrected := 0
	for _, doc := range slices.Concat(valid, upgradeDocuments) {
		raw, err := yaml.YAMLToJSON([]byte(doc))
		require.NoError(t, err)
		var root any
		require.NoError(t, json.Unmarshal(raw, &root))
		places("", root, func(x any) { root = x }, func(at string, old any, set func(any)) {
			for _, stranger := range strangers {
				set(stranger)
				changed, err := json.Marshal(root)
				require.NoError(t, err)
				set(old)
				d, faults := Decode(changed)
				if len(faults) == 0 {
					require.Empty(t, d.Corrected)
				}
				if d.Corrected != "" {
					corrected++
					_, left := decodeYAML(t, d.Corrected)
					require.Empty(t, left, "%s = %v\n%s", at, stranger, d.Corrected)
				}
			}
		})
	}
	require.Positive(t, corrected)
}

func TestCorrectedDocuments(t *testing.T) {
	for _, c := range []struct{ name, doc, want string }{
		{"nothing to correct", crp + selectors, ""},
		{"a misspelt field, a wrong form and a broken rule", `
apiVersion: placement.kubernetes-fleet.io/v1alpha1
kind: ClusterResourcePlacement
metadata: {name: Web_1, labels: {tier: 1}}
spec:
  resourceSelectors: {group: "", version: v1, kind: Namespace, name: web}
  Policy: {placementType: PickN}
`, `apiVersion: placement.kubernetes-fleet.io/v1
kind: ClusterResourcePlacement
metadata:
  labels:
    tier: "1"
  name: web-1
spec:
  policy:
    placementType: PickN
    numberOfClusters: 2 # choose how many members you want
  resourceSelectors:
  - group: ""
    kind: Namespace
    name: web
    version: v1
`},
		{"one fault without an obvious correction", crp + selectors + "  policy: {placementType: PickN, wishes: 3}\n", ""},
		{"content", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {tier: 1}}\ndata: {b: c}\n", "apiVersion: v1\ndata:\n  b: c\nkind: ConfigMap\nmetadata:\n  labels:\n    tier: \"1\"\n  name: a\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, _ := decodeYAML(t, c.doc)
			require.Equal(t, c.want, d.Corrected)
			if c.want != "" {
				again, faults := decodeYAML(t, d.Corrected)
				require.Empty(t, faults)
				require.Empty(t, again.Corrected)
			}
		})
	}
}

// valid are placements that no rule objects to.
var valid = []string{
	crp + selectors,
	crp + selectors + "  policy: {placementType: PickFixed, clusterNames: [a, b]}\n",
	crp + selectors + `  policy:
    placementType: PickN
    numberOfClusters: 3
    affinity:
      clusterAffinity:
        requiredDuringSchedulingIgnoredDuringExecution:
          clusterSelectorTerms:
          - labelSelector: {matchLabels: {a: b}, matchExpressions: [{key: c, operator: NotIn, values: [d]}]}
            propertySelector: {matchExpressions: [{name: kubernetes-fleet.io/node-count, operator: Ge, values: ["5"]}]}
        preferredDuringSchedulingIgnoredDuringExecution:
        - weight: 20
          preference: {metricSorter: {name: resources.kubernetes-fleet.io/total-cpu, sortOrder: Descending}}
    topologySpreadConstraints: [{topologyKey: region}]
    tolerations: [{key: a}]
  strategy:
    rollingUpdate: {maxUnavailable: 1}
    applyStrategy: {whenToTakeOver: Never}
`,
	"apiVersion: placement.kubernetes-fleet.io/v1beta1\nkind: ResourcePlacement\nmetadata: {name: web, namespace: shop}\nspec: {resourceSelectors: [{group: apps, version: v1, kind: Deployment}]}\n",
}

func TestValidDocumentsEncodeAndDecodeAgain(t *testing.T) {
	for _, doc := range valid {
		d, faults := decodeYAML(t, doc)
		require.Empty(t, faults)
		for range 2 { // as it is, then with defaults
			raw, err := json.Marshal(As[api.Placement](&d))
			require.NoError(t, err)
			again, faults := Decode(raw)
			require.NoError(t, faults.Err())
			require.Equal(t, As[api.Placement](&d), As[api.Placement](&again))
			require.Empty(t, Placement(As[api.Placement](&d), As[api.Placement](&d)))
			Default(As[api.Placement](&d))
		}
	}
}

func TestDefaults(t *testing.T) {
	d, _ := decodeYAML(t, valid[0])
	Default(As[api.Placement](&d))
	spec := As[api.Placement](&d).Spec
	require.Equal(t, api.ScopeNamespaceWithResources, spec.ResourceSelectors[0].SelectionScope)
	require.Equal(t, &api.Policy{PlacementType: api.PickAll}, spec.Policy)
	require.Equal(t, api.Strategy{
		Type: "RollingUpdate",
		RollingUpdate: &api.RollingUpdate{
			MaxUnavailable: new(intstr.FromString("25%")), MaxSurge: new(intstr.FromString("25%")), UnavailablePeriodSeconds: new(int32(60)),
		},
		ApplyStrategy:  &api.ApplyStrategy{Type: "ClientSideApply", ComparisonOption: "PartialComparison", WhenToApply: "Always", WhenToTakeOver: "Always"},
		DeleteStrategy: &api.DeleteStrategy{PropagationPolicy: "Delete"},
	}, spec.Strategy)
	require.Equal(t, int32(10), *spec.RevisionHistoryLimit)
	require.Equal(t, "ClusterScopeOnly", spec.StatusReportingScope)

	d, _ = decodeYAML(t, valid[2])
	Default(As[api.Placement](&d))
	spec = As[api.Placement](&d).Spec
	require.Equal(t, []api.TopologySpreadConstraint{{MaxSkew: new(int32(1)), TopologyKey: "region", WhenUnsatisfiable: "DoNotSchedule"}}, spec.Policy.TopologySpreadConstraints)
	require.Equal(t, []api.Toleration{{Key: "a", Operator: "Equal"}}, spec.Policy.Tolerations)
	require.Equal(t, new(intstr.FromInt32(1)), spec.Strategy.RollingUpdate.MaxUnavailable, "what was said stays")
	require.Equal(t, "Never", spec.Strategy.ApplyStrategy.WhenToTakeOver)

	d, _ = decodeYAML(t, valid[3])
	Default(As[api.Placement](&d))
	require.Empty(t, As[api.Placement](&d).Spec.StatusReportingScope)
	require.Empty(t, As[api.Placement](&d).Spec.ResourceSelectors[0].SelectionScope)
}

func TestDefaultsOfAMember(t *testing.T) {
	m := &api.MemberCluster{}
	DefaultMember(m)
	require.Equal(t, api.MemberClusterSpec{HeartbeatPeriodSeconds: 60, DeleteOptions: &api.DeleteOptions{ValidationMode: "Strict", WhenLeaving: "Retain"}}, m.Spec)
	m = &api.MemberCluster{Spec: api.MemberClusterSpec{HeartbeatPeriodSeconds: 5, DeleteOptions: &api.DeleteOptions{WhenLeaving: "Delete"}}}
	DefaultMember(m)
	require.Equal(t, api.MemberClusterSpec{HeartbeatPeriodSeconds: 5, DeleteOptions: &api.DeleteOptions{ValidationMode: "Strict", WhenLeaving: "Delete"}}, m.Spec)
}

func TestRulesOfChanges(t *testing.T) {
	place := func(policy, rest string) *api.Placement {
		d, faults := decodeYAML(t, crp+selectors+policy+rest)
		require.Empty(t, faults)
		return As[api.Placement](&d)
	}
	const (
		all     = "  policy: {placementType: PickAll}\n"
		some    = "  policy: {placementType: PickN, numberOfClusters: 2}\n"
		chosen  = "  policy: {affinity: {clusterAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {clusterSelectorTerms: []}}}}\n"
		trusted = "  policy: {tolerations: [{operator: Exists}]}\n"
		shown   = "  statusReportingScope: NamespaceAccessible\n"
	)
	for _, c := range []struct {
		name     string
		old, new *api.Placement
		want     []string
	}{
		{"nothing", place(some, ""), place(some, ""), nil},
		{"another number", place(some, ""), place("  policy: {placementType: PickN, numberOfClusters: 5}\n", ""), nil},
		{"a default spelt out", place("", ""), place(all, ""), nil},
		{"a default left out", place(all, ""), place("", ""), nil},
		{"a policy removed", place(some, ""), place("", ""), []string{
			"spec.policy: found nothing, expected a policy of type PickN: a policy that was set cannot be removed",
		}},
		{"a policy with affinity removed", place(chosen, ""), place("", ""), []string{
			"spec.policy: found nothing, expected a policy of type PickAll: a policy that was set cannot be removed",
		}},
		{"another type", place(some, ""), place(all, ""), []string{
			"spec.policy.placementType: found PickAll, expected PickN: the type of a placement cannot change; delete it and make another",
		}},
		{"another type than the default", place("", ""), place(some, ""), []string{
			"spec.policy.placementType: found PickN, expected PickAll: the type of a placement cannot change; delete it and make another",
		}},
		{"tolerations removed (D11)", place(trusted, ""), place(all, ""), nil},
		{"tolerations changed (D11)", place(trusted, ""), place("  policy: {tolerations: [{key: a}]}\n", ""), nil},
		{"another scope of its status", place("", ""), place("", shown), []string{
			"spec.statusReportingScope: found NamespaceAccessible, expected ClusterScopeOnly: it cannot change",
		}},
		{"the scope left out", place("", shown), place("", ""), []string{
			"spec.statusReportingScope: found ClusterScopeOnly, expected NamespaceAccessible: it cannot change",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.want, lines(PlacementUpdate(c.new, c.old)))
			require.Equal(t, c.want, lines(Placement(c.new, c.old)))
			Default(c.old)
			require.Equal(t, c.want, lines(PlacementUpdate(c.new, c.old)), "against the stored form, which has its defaults")
		})
	}
}

// Node pools and catalogs are kinds of ours; NodeClaims, node classes and pools of other groups are content.
func TestWhichKindsAroundNodesAreContent(t *testing.T) {
	for head, content := range map[string]bool{
		`"apiVersion":"karpenter.sh/v1","kind":"NodePool"`: false, `"apiVersion":"karpenter.sh/v1beta1","kind":"NodePool"`: false,
		`"apiVersion":"flotilla.io/v1alpha1","kind":"InstanceCatalog"`: false, `"apiVersion":"karpenter.sh/v1","kind":"NodeClaim"`: true,
		`"apiVersion":"karpenter.azure.com/v1beta1","kind":"AKSNodeClass"`: true, `"apiVersion":"karpenter.k8s.aws/v1","kind":"EC2NodeClass"`: true,
		`"apiVersion":"example.com/v1","kind":"NodePool"`: true,
	} {
		spec := `{}`
		if strings.Contains(head, api.KindInstanceCatalog) {
			spec = `{"types":[]}`
		}
		d, faults := Decode([]byte("{" + head + `,"metadata":{"name":"a"},"spec":` + spec + `}`))
		require.Empty(t, faults, head)
		require.Equal(t, content, d.IsContent(), head)
		require.Equal(t, !content, Known(d.Object.APIVersion, d.Object.Kind), head)
	}
	for head, expected := range map[string]string{
		`"apiVersion":"karpenter.sh/v2","kind":"NodePool"`:        "karpenter.sh/v1 or karpenter.sh/v1beta1",
		`"apiVersion":"karpenter.sh/v1","kind":"InstanceCatalog"`: "flotilla.io/v1alpha1",
		`"apiVersion":"flotilla.io/v1alpha1","kind":"NodePol"`:    "NodePool (did you mean that?)",
	} {
		_, faults := Decode([]byte("{" + head + `,"metadata":{"name":"a"},"spec":{"types":[]}}`))
		require.NotEmpty(t, faults, head)
		require.Equal(t, expected, faults[0].Expected)
	}
}
