package validate

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"flotilla/core/strict"
)

// crp is a placement that no rule objects to; its spec is completed by each test.
const crp = "apiVersion: placement.kubernetes-fleet.io/v1\nkind: ClusterResourcePlacement\nmetadata: {name: web}\nspec:\n"

// selectors select a namespace.
const selectors = "  resourceSelectors:\n  - {group: \"\", version: v1, kind: Namespace, name: web}\n"

func decodeYAML(t *testing.T, text string) (Decoded, []string) {
	t.Helper()
	raw, err := yaml.YAMLToJSONStrict([]byte(text))
	require.NoError(t, err, text)
	d, faults := Decode(raw)
	return d, lines(faults)
}

// lines shows faults without the name of their object.
func lines(faults strict.Faults) []string {
	var out []string
	for _, f := range faults {
		f.Object = ""
		out = append(out, f.String())
	}
	return out
}

type rule struct {
	name, doc string
	want      []string
}

func checkRules(t *testing.T, prefix string, rules []rule) {
	t.Helper()
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			_, got := decodeYAML(t, prefix+r.doc)
			require.Equal(t, r.want, got)
		})
	}
}

func TestRulesOfNames(t *testing.T) {
	long := strings.Repeat("a", 64)
	const alphabet = "lower-case letters, digits, '-' and '.', beginning and ending with a letter or digit"
	const head = "apiVersion: placement.kubernetes-fleet.io/v1beta1\n"
	checkRules(t, head, []rule{
		{"a namespace for a cluster kind", "kind: ClusterResourcePlacement\nmetadata: {name: web, namespace: shop}\nspec:\n" + selectors, []string{
			`metadata.namespace: found "shop", expected nothing: a ClusterResourcePlacement lies in no namespace`,
		}},
		{"no name", "kind: ClusterResourcePlacement\nspec:\n" + selectors, []string{"metadata.name: found nothing, expected a name"}},
		{"63 characters", "kind: ClusterResourcePlacement\nmetadata: {name: " + long[1:] + "}\nspec:\n" + selectors, nil},
		{"64 characters", "kind: ClusterResourcePlacement\nmetadata: {name: " + long + "}\nspec:\n" + selectors, []string{
			`metadata.name: found "` + long + `", expected at most 63 characters, not 64`,
		}},
		{"capitals", "kind: ClusterResourcePlacement\nmetadata: {name: Web_1}\nspec:\n" + selectors, []string{`metadata.name: found "Web_1", expected ` + alphabet}},
		{"dots are fine", "kind: ClusterResourcePlacement\nmetadata: {name: web.v1}\nspec:\n" + selectors, nil},
		{"a ResourcePlacement without namespace", "kind: ResourcePlacement\nmetadata: {name: web}\nspec:\n  resourceSelectors: [{group: apps, version: v1, kind: Deployment}]", []string{
			"metadata.namespace: found nothing, expected the namespace whose objects are placed",
		}},
		{"a ResourcePlacement in an odd one", "kind: ResourcePlacement\nmetadata: {name: web, namespace: a.b}\nspec:\n  resourceSelectors: [{group: apps, version: v1, kind: Deployment}]", []string{
			`metadata.namespace: found "a.b", expected lower-case letters, digits and '-', beginning and ending with a letter or digit`,
		}},
		{"labels and annotations", "kind: ClusterResourcePlacement\nmetadata: {name: web, labels: {\"a b\": ok, tier: \"-\"}, annotations: {\"/x\": z, Upper.Case/x: any thing}}\nspec:\n" + selectors, []string{
			`metadata.labels["a b"]: found "a b", expected a name of at most 63 letters, digits, '-', '_' and '.', optionally with a DNS prefix and a slash before it`,
			`metadata.labels.tier: found "-", expected at most 63 letters, digits, '-', '_' and '.', beginning and ending with a letter or digit`,
			`metadata.annotations["/x"]: found "/x", expected a name of at most 63 letters, digits, '-', '_' and '.', optionally with a DNS prefix and a slash before it`,
		}},
	})
}

const pickTwo = "  policy: {placementType: PickN, numberOfClusters: 2}\n"

func TestRulesOfOurAnnotations(t *testing.T) {
	for _, c := range []struct{ key, value, expected string }{
		{"failover-after", "10m", ""},
		{"failover-after", "1h30m", ""},
		{"failover-after", "0s", `a duration above zero, like "10m" or "1h30m"`},
		{"failover-after", "-5m", `a duration above zero, like "10m" or "1h30m"`},
		{"failover-after", "ten minutes", `a duration above zero, like "10m" or "1h30m"`},
		{"failover-after", "", `a duration above zero, like "10m" or "1h30m"`},
		{"progress-deadline", "90s", ""},
		{"progress-deadline", "0", ""},
		{"progress-deadline", "-1s", `a duration, like "10m" or "1h30m", or "0" for never`},
		{"progress-deadline", "never", `a duration, like "10m" or "1h30m", or "0" for never`},
		{"allow-evicted", "true", ""},
		{"allow-evicted", "false", ""},
		{"allow-evicted", "True", `"true" or "false"`},
		{"allow-evicted", "", `"true" or "false"`},
	} {
		meta := fmt.Sprintf("metadata: {name: web, annotations: {flotilla.io/%s: %q}}", c.key, c.value)
		_, got := decodeYAML(t, strings.Replace(crp, "metadata: {name: web}", meta, 1)+selectors+pickTwo)
		var want []string
		if c.expected != "" {
			want = []string{fmt.Sprintf(`metadata.annotations["flotilla.io/%s"]: found %q, expected %s`, c.key, c.value, c.expected)}
		}
		require.Equal(t, want, got)
	}
	for policy, kind := range map[string]string{
		"": "PickAll", "  policy: {tolerations: []}\n": "PickAll", "  policy: {placementType: PickAll}\n": "PickAll",
		"  policy: {placementType: PickFixed, clusterNames: [a]}\n": "PickFixed",
	} {
		_, got := decodeYAML(t, strings.Replace(crp, "{name: web}", `{name: web, annotations: {flotilla.io/failover-after: 10m}}`, 1)+selectors+policy)
		require.Equal(t, []string{`metadata.annotations["flotilla.io/failover-after"]: found "10m", expected nothing: only a PickN picks ` +
			"another member in the place of one that is away, and placementType is " + kind}, got)
	}
	for value, fix := range map[string]string{"True": `flotilla.io/allow-evicted: "true"`, "0": `flotilla.io/allow-evicted: "false"`, "perhaps": ""} {
		_, faults := Decode([]byte(`{"apiVersion":"cluster.kubernetes-fleet.io/v1","kind":"MemberCluster","metadata":{"name":"a","annotations":{"flotilla.io/allow-evicted":"` + value + `"}}}`))
		require.Len(t, faults, 1)
		require.Equal(t, fix, faults[0].Fix)
	}
	d, got := decodeYAML(t, strings.Replace(crp, "{name: web}", `{name: web, annotations: {flotilla.io/failover-afer: 5m, other.io/x: z}}`, 1)+selectors)
	require.Empty(t, got)
	require.Equal(t, []string{"metadata.annotations: nothing reads flotilla.io/failover-afer; did you mean flotilla.io/failover-after?"}, d.Notes)
}

func TestRulesOfSelectors(t *testing.T) {
	many := func(n int) string {
		out := "  resourceSelectors:\n"
		for i := range n {
			out += fmt.Sprintf("  - {group: \"\", version: v1, kind: Namespace, name: n%d}\n", i)
		}
		return out
	}
	const scopeOf = "{group: \"\", version: v1, kind: Namespace, name: web, selectionScope: "
	checkRules(t, crp, []rule{
		{"none", "  resourceSelectors: []\n", []string{"spec.resourceSelectors: found nothing, expected at least one resource selector"}},
		{"absent", "  policy: {}\n", []string{"spec.resourceSelectors: found nothing, expected at least one resource selector"}},
		{"a hundred", many(100), nil},
		{"a hundred and one", many(101), []string{"spec.resourceSelectors: found a list of 101, expected at most 100 resource selectors"}},
		{"group, version and kind are required", "  resourceSelectors: [{name: web}]\n", []string{
			"spec.resourceSelectors[0].group: found nothing, expected a string",
			`spec.resourceSelectors[0].version: found nothing, expected the version of the kind, like "v1"`,
			"spec.resourceSelectors[0].kind: found nothing, expected the kind of the objects to select",
		}},
		{"version and kind say something", "  resourceSelectors: [{group: \"\", version: \"\", kind: \"\"}]\n", []string{
			`spec.resourceSelectors[0].version: found nothing, expected the version of the kind, like "v1"`,
			"spec.resourceSelectors[0].kind: found nothing, expected the kind of the objects to select",
		}},
		{"name and label selector", "  resourceSelectors: [{group: \"\", version: v1, kind: Namespace, name: web, labelSelector: {}}]\n", []string{
			"spec.resourceSelectors[0]: found both name and labelSelector, expected one of name and labelSelector, or neither for all objects of the kind",
		}},
		{"all of a kind", "  resourceSelectors: [{group: rbac.authorization.k8s.io, version: v1, kind: ClusterRole}]\n", nil},
		{"label selectors are parsed", `  resourceSelectors:
  - {group: "", version: v1, kind: Namespace, labelSelector: {matchLabels: {"a b": "c d"}, matchExpressions: [
      {key: ok, operator: In, values: [a]}, {key: "", operator: in, values: []}, {key: a, operator: In}, {key: a, operator: Exists, values: [b]}, {key: a, operator: ""}, {key: a, operator: NotIn, values: ["-"]}]}}
`, []string{
			`spec.resourceSelectors[0].labelSelector.matchLabels["a b"]: found "a b", expected a name of at most 63 letters, digits, '-', '_' and '.', optionally with a DNS prefix and a slash before it`,
			`spec.resourceSelectors[0].labelSelector.matchLabels["a b"]: found "c d", expected at most 63 letters, digits, '-', '_' and '.', beginning and ending with a letter or digit`,
			`spec.resourceSelectors[0].labelSelector.matchExpressions[1].key: found nothing, expected a name, optionally with a DNS prefix and a slash before it`,
			`spec.resourceSelectors[0].labelSelector.matchExpressions[1].operator: found "in", expected In, NotIn, Exists or DoesNotExist`,
			`spec.resourceSelectors[0].labelSelector.matchExpressions[1].values: found nothing, expected at least one value for operator In`,
			`spec.resourceSelectors[0].labelSelector.matchExpressions[2].values: found nothing, expected at least one value for operator In`,
			`spec.resourceSelectors[0].labelSelector.matchExpressions[3].values: found a list of 1, expected no values for operator Exists`,
			`spec.resourceSelectors[0].labelSelector.matchExpressions[4].operator: found nothing, expected In, NotIn, Exists or DoesNotExist`,
			`spec.resourceSelectors[0].labelSelector.matchExpressions[5].values[0]: found "-", expected at most 63 letters, digits, '-', '_' and '.', beginning and ending with a letter or digit`,
		}},
		{"a kind inside namespaces", "  resourceSelectors: [{group: apps, version: v1, kind: Deployment, name: web}]\n", []string{
			`spec.resourceSelectors[0].kind: found "Deployment", expected a kind outside namespaces; select the namespace to place what is in it, or use a ResourcePlacement`,
		}},
		{"an unknown kind may lie anywhere", "  resourceSelectors: [{group: example.com, version: v1, kind: Thing}]\n", nil},
		{"scopes", "  resourceSelectors:\n  - " + scopeOf + "NamespaceOnly}\n  - " + strings.Replace(scopeOf, "name: web", "name: shop", 1) + "NamespaceWithResources}\n", nil},
		{"what is selected twice for certain", "  resourceSelectors:\n  - " + scopeOf + "NamespaceOnly}\n  - " + scopeOf + "NamespaceWithResources}\n" + `  - {group: example.com, version: v1, kind: Widget, labelSelector: {matchLabels: {a: b}}}
  - {group: example.com, version: v1, kind: Widget, name: web}
  - {group: example.com, version: v2, kind: Widget, labelSelector: {matchLabels: {a: b}}}
  - {group: example.com, version: v1, kind: Gadget, name: web}
  - {group: example.com, version: v1, kind: Gadget}
  - {group: example.com, version: v1, kind: Gadget, labelSelector: {matchLabels: {a: b}}}
`, []string{
			`spec.resourceSelectors[1]: found Namespace web again, expected each object once; spec.resourceSelectors[0] selects it already`,
			`spec.resourceSelectors[4]: found Widget with labels a=b again, expected each object once; spec.resourceSelectors[2] selects it already`,
			`spec.resourceSelectors[6]: found every Gadget again, expected each object once; spec.resourceSelectors[5] selects it already`,
			`spec.resourceSelectors[7]: found Gadget with labels a=b again, expected each object once; spec.resourceSelectors[6] selects it already`,
		}},
		{"no such scope", "  resourceSelectors: [" + scopeOf + "namespaceonly}]\n", []string{
			`spec.resourceSelectors[0].selectionScope: found "namespaceonly", expected NamespaceOnly, NamespaceWithResources or NamespaceWithResourceSelectors`,
		}},
		{"a scope of something else", "  resourceSelectors: [{group: example.com, version: v1, kind: Namespace, selectionScope: NamespaceOnly}]\n", []string{
			`spec.resourceSelectors[0].selectionScope: found "NamespaceOnly", expected no selectionScope: it is for kind Namespace only`,
		}},
		{"selectors inside a namespace", "  resourceSelectors:\n  - " + scopeOf + "NamespaceWithResourceSelectors}\n  - {group: apps, version: v1, kind: Deployment}\n", nil},
		{"selectors inside namespaces", `  resourceSelectors:
  - {group: "", version: v1, kind: Namespace, selectionScope: NamespaceWithResourceSelectors}
  - {group: "", version: v1, kind: Namespace, name: a, selectionScope: NamespaceWithResourceSelectors}
  - {group: "", version: v1, kind: Namespace, name: b}
`, []string{
			"spec.resourceSelectors[0].name: found nothing, expected the name of one namespace, because selectionScope is NamespaceWithResourceSelectors",
			`spec.resourceSelectors[1].selectionScope: found "NamespaceWithResourceSelectors", expected exactly one selector with it`,
			"spec.resourceSelectors[2]: found another selector of kind Namespace, expected no other beside the one with selectionScope NamespaceWithResourceSelectors",
		}},
	})
	checkRules(t, "apiVersion: placement.kubernetes-fleet.io/v1\nkind: ResourcePlacement\nmetadata: {name: web, namespace: shop}\nspec:\n", []rule{
		{"inside", "  resourceSelectors: [{group: apps, version: v1, kind: Deployment}]\n", nil},
		{"outside", "  resourceSelectors: [{group: \"\", version: v1, kind: Namespace, name: shop}]\n", []string{
			`spec.resourceSelectors[0].kind: found "Namespace", expected a kind inside the placement's namespace; use a ClusterResourcePlacement for others`,
		}},
		{"no scope of its status", "  resourceSelectors: [{group: apps, version: v1, kind: Deployment}]\n  statusReportingScope: ClusterScopeOnly\n", []string{
			`spec.statusReportingScope: found "ClusterScopeOnly", expected nothing: only a ClusterResourcePlacement has it`,
		}},
	})
}

func TestRulesOfTheRest(t *testing.T) {
	checkRules(t, crp+selectors, []rule{
		{"history", "  revisionHistoryLimit: 1\n", nil},
		{"no history", "  revisionHistoryLimit: 0\n", []string{"spec.revisionHistoryLimit: found number 0, expected a number from 1 to 1000"}},
		{"too much history", "  revisionHistoryLimit: 1001\n", []string{"spec.revisionHistoryLimit: found number 1001, expected a number from 1 to 1000"}},
		{"status in the namespace", "  statusReportingScope: NamespaceAccessible\n", nil},
		{"status somewhere", "  statusReportingScope: Anywhere\n", []string{`spec.statusReportingScope: found "Anywhere", expected ClusterScopeOnly or NamespaceAccessible`}},
	})
	checkRules(t, crp, []rule{
		{"status in no namespace", "  resourceSelectors: [{group: example.com, version: v1, kind: Thing}]\n  statusReportingScope: NamespaceAccessible\n", []string{
			`spec.statusReportingScope: found "NamespaceAccessible", expected exactly one resource selector of kind Namespace with it, not 0`,
		}},
	})
}

func TestNotesOfAPlacement(t *testing.T) {
	d, faults := decodeYAML(t, crp+selectors+`  statusReportingScope: NamespaceAccessible
  strategy:
    rollingUpdate: {maxUnavailable: 0, maxSurge: 0}
    applyStrategy: {type: ReportDiff}
`)
	require.Empty(t, faults)
	require.Len(t, d.Notes, 3)
	require.Contains(t, d.Notes[0], "maxUnavailable is 0: members that hold this placement never receive changed content")
	require.Contains(t, d.Notes[1], "nothing is written, differences are reported")
	require.Contains(t, d.Notes[2], "no copy of the status is made")
	for share, notes := range map[string]int{"0": 1, "0%": 1, "1": 0, "1%": 0, "100%": 0} {
		d, faults := decodeYAML(t, crp+selectors+"  strategy: {rollingUpdate: {maxUnavailable: "+share+", maxSurge: 0%}}\n")
		require.Empty(t, faults)
		require.Len(t, d.Notes, notes, share)
	}
}

func TestRulesOfStrategies(t *testing.T) {
	const share = `expected a number of 0 or more, or a percentage from "0%" to "100%"`
	checkRules(t, crp+selectors+"  strategy:\n", []rule{
		{"everything", `    type: RollingUpdate
    rollingUpdate: {maxUnavailable: 100%, maxSurge: 3, unavailablePeriodSeconds: 0}
    applyStrategy: {type: ServerSideApply, serverSideApplyConfig: {force: true}, comparisonOption: FullComparison, whenToApply: IfNotDrifted, whenToTakeOver: Never, allowCoOwnership: true}
    deleteStrategy: {propagationPolicy: Abandon}
    reportBackStrategy: {type: Disabled}
`, nil},
		{"External", "    type: External\n", nil},
		{"External with rolling update", "    type: External\n    rollingUpdate: {}\n", []string{
			"spec.strategy.rollingUpdate: found a map, expected nothing, because type is External",
		}},
		{"unknown", "    type: Recreate\n", []string{`spec.strategy.type: found "Recreate", expected RollingUpdate or External`}},
		{"shares", "    rollingUpdate: {maxUnavailable: 101%, maxSurge: -1, unavailablePeriodSeconds: -1}\n", []string{
			`spec.strategy.rollingUpdate.maxUnavailable: found "101%", ` + share,
			`spec.strategy.rollingUpdate.maxSurge: found number -1, ` + share,
			"spec.strategy.rollingUpdate.unavailablePeriodSeconds: found number -1, expected a number of seconds, 0 or more",
		}},
		{"odd shares", "    rollingUpdate: {maxUnavailable: \"2\", maxSurge: 1.5%}\n", []string{
			`spec.strategy.rollingUpdate.maxUnavailable: found "2", expected a number without quotes, or a percentage with its sign`,
			`spec.strategy.rollingUpdate.maxSurge: found "1.5%", ` + share,
		}},
		{"negative and wordy shares", "    rollingUpdate: {maxUnavailable: -5%, maxSurge: half}\n", []string{
			`spec.strategy.rollingUpdate.maxUnavailable: found "-5%", ` + share,
			`spec.strategy.rollingUpdate.maxSurge: found "half", ` + share,
		}},
		{"odder shares", "    rollingUpdate: {maxUnavailable: \"+5%\", maxSurge: \"\"}\n", []string{
			`spec.strategy.rollingUpdate.maxUnavailable: found "+5%", ` + share,
			`spec.strategy.rollingUpdate.maxSurge: found "", ` + share,
		}},
		{"apply", "    applyStrategy: {type: Apply, serverSideApplyConfig: {}, comparisonOption: Full, whenToApply: Sometimes, whenToTakeOver: always}\n", []string{
			`spec.strategy.applyStrategy.type: found "Apply", expected ClientSideApply, ServerSideApply or ReportDiff`,
			"spec.strategy.applyStrategy.serverSideApplyConfig: found a map, expected nothing, unless type is ServerSideApply",
			`spec.strategy.applyStrategy.comparisonOption: found "Full", expected PartialComparison or FullComparison`,
			`spec.strategy.applyStrategy.whenToApply: found "Sometimes", expected Always or IfNotDrifted`,
			`spec.strategy.applyStrategy.whenToTakeOver: found "always", expected Always, IfNoDiff or Never`,
		}},
		{"delete", "    deleteStrategy: {propagationPolicy: Orphan}\n", []string{`spec.strategy.deleteStrategy.propagationPolicy: found "Orphan", expected Delete or Abandon`}},
		{"report back", "    reportBackStrategy: {type: Mirror, destination: Elsewhere}\n", []string{
			`spec.strategy.reportBackStrategy.type: found "Mirror", expected Disabled: members' status is not mirrored back into objects; ` + "`flotilla describe placement` shows it",
			`spec.strategy.reportBackStrategy.destination: found "Elsewhere", expected OriginalResource or WorkAPI`,
		}},
		{"report back nowhere", "    reportBackStrategy: {type: Disabled, destination: WorkAPI}\n", []string{
			`spec.strategy.reportBackStrategy.destination: found "WorkAPI", expected nothing, unless type is Mirror`,
		}},
	})
}

func TestNotesOfAMember(t *testing.T) {
	const member = "apiVersion: cluster.kubernetes-fleet.io/v1\nkind: MemberCluster\nmetadata: {name: berlin}\nspec: "
	for spec, want := range map[string][]string{
		"{}": nil,
		"{heartbeatPeriodSeconds: 60, deleteOptions: {validationMode: Strict}}": nil,
		"{heartbeatPeriodSeconds: 15}":                                          {"spec.heartbeatPeriodSeconds is not used"},
		"{identity: {kind: User, name: berlin}}":                                {"spec.identity is not used"},
		"{deleteOptions: {validationMode: Skip}}":                               {"spec.deleteOptions.validationMode is not used"},
	} {
		d, faults := decodeYAML(t, member+spec+"\n")
		require.Empty(t, faults, spec)
		require.Len(t, d.Notes, len(want), spec)
		for i := range want {
			require.Contains(t, d.Notes[i], want[i])
		}
	}
}
