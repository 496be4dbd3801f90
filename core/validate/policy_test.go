package validate

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/strict"
)

func TestRulesOfPolicies(t *testing.T) {
	names := func(n int) string {
		var out []string
		for i := range n {
			out = append(out, fmt.Sprintf("m%d", i))
		}
		return "[" + strings.Join(out, ", ") + "]"
	}
	long := strings.Repeat("m", 64)
	checkRules(t, crp+selectors+"  policy:\n", []rule{
		{"nothing said", "    {}\n", nil},
		{"a type that is none", "    placementType: pickn\n    numberOfClusters: 2\n", []string{`spec.policy.placementType: found "pickn", expected PickAll, PickN or PickFixed`}},
		{"PickFixed", "    placementType: PickFixed\n    clusterNames: " + names(100) + "\n", nil},
		{"PickFixed of nobody", "    placementType: PickFixed\n", []string{"spec.policy.clusterNames: found nothing, expected at least one name, because placementType is PickFixed"}},
		{"PickFixed of too many", "    placementType: PickFixed\n    clusterNames: " + names(101) + "\n", []string{"spec.policy.clusterNames: found a list of 101, expected at most 100 names"}},
		{"PickFixed by odd names", "    placementType: PickFixed\n    clusterNames: [a, B, a, " + long + ", a.b]\n", []string{
			`spec.policy.clusterNames[1]: found "B", expected lower-case letters, digits, '-' and '.', beginning and ending with a letter or digit`,
			`spec.policy.clusterNames[2]: found "a" again, expected each name once`,
			`spec.policy.clusterNames[3]: found "` + long + `", expected at most 63 characters, not 64`,
		}},
		{"PickFixed with what is for others", `    placementType: PickFixed
    clusterNames: [a]
    numberOfClusters: 1
    affinity: {clusterAffinity: {}}
    topologySpreadConstraints: [{topologyKey: region}]
    tolerations: [{key: a, operator: Exists}]
`, []string{
			"spec.policy.numberOfClusters: found number 1, expected nothing: PickN only, and placementType is PickFixed",
			"spec.policy.affinity: found a map, expected nothing: PickAll and PickN only, and placementType is PickFixed",
			"spec.policy.topologySpreadConstraints: found a list of 1, expected nothing: PickN only, and placementType is PickFixed",
			"spec.policy.tolerations: found a list of 1, expected nothing: PickAll and PickN only, and placementType is PickFixed",
		}},
		{"PickAll with what is for others", `    clusterNames: [a]
    numberOfClusters: 1
    affinity: {clusterAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, preference: {}}]}}
    topologySpreadConstraints: [{topologyKey: region}]
`, []string{
			"spec.policy.clusterNames: found a list of 1, expected nothing: PickFixed only, and placementType is PickAll",
			"spec.policy.numberOfClusters: found number 1, expected nothing: PickN only, and placementType is PickAll",
			"spec.policy.affinity.clusterAffinity.preferredDuringSchedulingIgnoredDuringExecution: found a list of 1, expected nothing: PickN only, and placementType is PickAll",
			"spec.policy.topologySpreadConstraints: found a list of 1, expected nothing: PickN only, and placementType is PickAll",
		}},
		{"PickN of none", "    placementType: PickN\n    numberOfClusters: 0\n", nil},
		{"PickN of how many?", "    placementType: PickN\n", []string{"spec.policy.numberOfClusters: found nothing, expected the number of members wanted, 0 or more, because placementType is PickN"}},
		{"PickN of less than none", "    placementType: PickN\n    numberOfClusters: -1\n", []string{"spec.policy.numberOfClusters: found number -1, expected a number of 0 or more"}},
		{"a number that cannot be read is named once", "    placementType: PickN\n    numberOfClusters: many\n", []string{`spec.policy.numberOfClusters: found "many", expected a whole number`}},
	})
}

func TestRulesOfAffinity(t *testing.T) {
	const prefix = "  policy:\n    placementType: PickN\n    numberOfClusters: 2\n    affinity: {clusterAffinity: {"
	const required = "requiredDuringSchedulingIgnoredDuringExecution: {clusterSelectorTerms: ["
	const requiredAt = "spec.policy.affinity.clusterAffinity.requiredDuringSchedulingIgnoredDuringExecution.clusterSelectorTerms"
	const preferredAt = "spec.policy.affinity.clusterAffinity.preferredDuringSchedulingIgnoredDuringExecution"
	checkRules(t, crp+selectors+prefix, []rule{
		{"ten terms", required + strings.Repeat("{},", 9) + "{}]}}}", nil},
		{"eleven terms", required + strings.Repeat("{},", 10) + "{}]}}}", []string{requiredAt + ": found a list of 11, expected at most 10 terms"}},
		{"no terms", required + "]}}}", nil},
		{"required terms do not sort", required + "{propertySorter: {name: a/b, sortOrder: Ascending}}, {metricSorter: {name: a/b, sortOrder: Ascending}}]}}}", []string{
			requiredAt + "[0].propertySorter: found a map, expected nothing: required terms filter, only preferred terms sort",
			requiredAt + "[1].metricSorter: found a map, expected nothing: required terms filter, only preferred terms sort",
		}},
		{"preferred terms", `preferredDuringSchedulingIgnoredDuringExecution: [
      {weight: -100, preference: {labelSelector: {matchLabels: {a: b}}}},
      {weight: 100, preference: {propertySorter: {name: kubernetes-fleet.io/node-count, sortOrder: Ascending}}},
      {weight: 0, preference: {metricSorter: {name: kubernetes-fleet.io/node-count, sortOrder: Descending}}}]}}`, nil},
		{"preferred terms that are wrong", `preferredDuringSchedulingIgnoredDuringExecution: [
      {weight: -101, preference: {}}, {weight: 101, preference: {propertySelector: {matchExpressions: []}}},
      {weight: 1, preference: {propertySorter: {name: "a b", sortOrder: Up}, metricSorter: {name: "", sortOrder: ""}}}, {}]}}`, []string{
			preferredAt + "[3].weight: found nothing, expected a whole number",
			preferredAt + "[3].preference: found nothing, expected a map with labelSelector, propertySelector, propertySorter, metricSorter",
			preferredAt + "[0].weight: found number -101, expected a number from -100 to 100",
			preferredAt + "[1].weight: found number 101, expected a number from -100 to 100",
			preferredAt + "[1].preference.propertySelector: found a map, expected nothing: preferred terms sort by a property, only required terms select by it",
			preferredAt + "[2].preference.metricSorter: found both propertySorter and metricSorter, expected one of them: they are two spellings of the same",
			preferredAt + `[2].preference.propertySorter.name: found "a b", expected names of at most 63 letters, digits, '-', '_' and '.', separated by slashes, optionally after a DNS prefix`,
			preferredAt + `[2].preference.propertySorter.sortOrder: found "Up", expected Ascending or Descending`,
			preferredAt + "[2].preference.metricSorter.name: found nothing, expected the name of a property",
			preferredAt + "[2].preference.metricSorter.sortOrder: found nothing, expected Ascending or Descending",
		}},
	})
}

func TestNamesOfProperties(t *testing.T) {
	for name, ok := range map[string]bool{
		"kubernetes-fleet.io/node-count":                      true,
		"kubernetes.azure.com/vm-sizes/Standard_D4s_v5/count": true,
		"node-count": true,
		"a/b/c":      true,
		"resources.kubernetes-fleet.io/total-cpu":                   true,
		"resources.kubernetes-fleet.io/available-ephemeral-storage": true,
		"resources.kubernetes-fleet.io/allocatable-nvidia.com/gpu":  true,
		"resources.kubernetes-fleet.io/used-cpu":                    false,
		"resources.kubernetes-fleet.io/total":                       false,
		"resources.kubernetes-fleet.io/total-":                      false,
		"resources.kubernetes-fleet.io/cpu-total":                   false,
		"":                                       false,
		"a//b":                                   false,
		"/a":                                     false,
		"a/":                                     false,
		"a b":                                    false,
		"example.com/" + strings.Repeat("a", 63): true,
		"example.com/" + strings.Repeat("a", 64): false,
	} {
		f := newRules()
		f.propertyName(name, nil)
		require.Equal(t, ok, len(*f.Findings) == 0, name)
	}
}

func TestRulesOfPropertyExpressions(t *testing.T) {
	const at = "spec.policy.affinity.clusterAffinity.requiredDuringSchedulingIgnoredDuringExecution.clusterSelectorTerms[0].propertySelector.matchExpressions"
	const prefix = "  policy: {affinity: {clusterAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {clusterSelectorTerms: [{propertySelector: {matchExpressions: "
	check := func(t *testing.T, expressions string, want ...string) {
		t.Helper()
		_, got := decodeYAML(t, crp+selectors+prefix+expressions+"}}]}}}}\n")
		require.Equal(t, want, got, expressions)
	}
	for _, operator := range propertyOperators {
		check(t, `[{name: a/b, operator: `+operator+`, values: ["100m"]}]`)
	}
	for _, value := range []string{"5", "-5", "1.5", "2Gi", "1e9", "0"} {
		check(t, `[{name: a/b, operator: Ge, values: ["`+value+`"]}]`)
	}
	check(t, `[{name: a/b, operator: ge, values: ["5"]}]`, at+`[0].operator: found "ge", expected Gt, Ge, Eq, Ne, Lt or Le`)
	check(t, `[{name: a/b, operator: "", values: ["5"]}]`, at+`[0].operator: found nothing, expected Gt, Ge, Eq, Ne, Lt or Le`)
	check(t, `[{name: a/b, operator: Ge, values: []}]`, at+`[0].values: found nothing, expected exactly one value`)
	check(t, `[{name: a/b, operator: Ge, values: []}, {name: a/b, operator: Lt, values: ["-5"]}]`, at+`[0].values: found nothing, expected exactly one value`)
	check(t, `[{name: a/b, operator: Ge, values: ["1", "2"]}]`, at+`[0].values: found a list of 2, expected exactly one value`)
	check(t, `[{name: a/b, operator: Ge, values: [many]}]`, at+`[0].values[0]: found "many", expected a quantity, like "5", "1.5", "100m" or "2Gi"`)
	check(t, `[{name: a/b, operator: Ge, values: 5}]`,
		at+`[0].values: found number 5, expected a list, each item a string`, at+`[0].values[0]: found number 5, expected a string, "5"`)
}

func TestContradictions(t *testing.T) {
	for _, c := range []struct{ expressions, against string }{
		{"Ge 5, Le 5", ""},
		{"Gt 1, Lt 2", ""},
		{"Eq 5, Eq 5", ""},
		{"Eq 2Gi, Eq 2048Mi", ""},
		{"Eq 5, Ge 5, Le 5, Ne 6", ""},
		{"Ne 5, Ne 6", ""},
		{"Ge 5, Ge 7, Le 8", ""},
		{"Eq 5, Eq 6", "Eq 5"},
		{"Eq 2Gi, Eq 2G", "Eq 2Gi"},
		{"Eq 5, Ne 5", "Eq 5"},
		{"Ne 5, Eq 5", "Ne 5"},
		{"Ne 1500m, Eq 1.5", "Ne 1500m"},
		{"Gt 5, Lt 5", "Gt 5"},
		{"Ge 5, Lt 5", "Ge 5"},
		{"Gt 5, Le 5", "Gt 5"},
		{"Lt 5, Ge 6", "Lt 5"},
		{"Ge 5, Ge 7, Le 6", "Ge 7"},
		{"Ge 7, Ge 5, Le 6", "Ge 7"},
		{"Ge 5, Gt 5, Le 5", "Gt 5"},
		{"Gt 5, Ge 5, Le 5", "Gt 5"},
		{"Ge 5, Eq 4", "Ge 5"},
		{"Eq 4, Ge 5", "Eq 4"},
		{"Lt 4, Eq 4", "Lt 4"},
		{"Eq 4, Lt 4", "Eq 4"},
	} {
		var all []api.PropertyExpression
		for i, e := range strings.Split(c.expressions, ", ") {
			operator, value, _ := strings.Cut(e, " ")
			name := []string{api.PropertyNodeCount, api.PropertyNodeCountAKS}[i%2]
			all = append(all, api.PropertyExpression{Name: name, Operator: api.PropertyOperator(operator), Values: []string{value}})
		}
		f := newRules()
		f.expressions(all, (*strict.Place)(nil).Child("e"))
		if c.against == "" {
			require.Empty(t, *f.Findings, c.expressions)
			continue
		}
		require.Len(t, *f.Findings, 1, c.expressions)
		require.Equal(t, fmt.Sprintf("e[%d]", len(all)-1), (*f.Findings)[0].At.String(), c.expressions)
		require.True(t, strings.HasSuffix((*f.Findings)[0].Expected, "together with "+c.against), "%s: %s", c.expressions, (*f.Findings)[0].Expected)
	}
	f := newRules()
	f.expressions([]api.PropertyExpression{{Name: "a", Operator: api.OpEq, Values: []string{"1"}}, {Name: "b", Operator: api.OpEq, Values: []string{"2"}}}, nil)
	require.Empty(t, *f.Findings, "different properties do not contradict each other")
}

func TestRulesOfSpreadAndTolerations(t *testing.T) {
	const prefix = "  policy:\n    placementType: PickN\n    numberOfClusters: 2\n"
	many := strings.Repeat("{key: a, operator: Exists},", 0)
	for i := range 101 {
		many += fmt.Sprintf("{key: k%d, operator: Exists},", i)
	}
	checkRules(t, crp+selectors+prefix, []rule{
		{"spread", "    topologySpreadConstraints: [{topologyKey: region}, {topologyKey: example.com/zone, maxSkew: 1, whenUnsatisfiable: ScheduleAnyway}, {topologyKey: region}]\n", nil},
		{"spread that is wrong", "    topologySpreadConstraints: [{topologyKey: \"a b\", maxSkew: 0, whenUnsatisfiable: Never}, {topologyKey: \"\"}, {}]\n", []string{
			"spec.policy.topologySpreadConstraints[2].topologyKey: found nothing, expected a name, optionally with a DNS prefix and a slash before it",
			`spec.policy.topologySpreadConstraints[0].topologyKey: found "a b", expected a name of at most 63 letters, digits, '-', '_' and '.', optionally with a DNS prefix and a slash before it`,
			"spec.policy.topologySpreadConstraints[0].maxSkew: found number 0, expected a number of 1 or more",
			`spec.policy.topologySpreadConstraints[0].whenUnsatisfiable: found "Never", expected DoNotSchedule or ScheduleAnyway`,
			"spec.policy.topologySpreadConstraints[1].topologyKey: found nothing, expected a name, optionally with a DNS prefix and a slash before it",
		}},
		{"tolerations", "    tolerations: [{operator: Exists}, {key: a, value: b}, {key: a, operator: Equal, value: c, effect: NoSchedule}, {key: example.com/a, operator: Exists}, {key: a}]\n", nil},
		{"tolerations that are wrong", `    tolerations:
    - {value: b}
    - {key: "a b", operator: Exists, value: x}
    - {key: a, operator: In}
    - {key: a, value: "-", effect: NoExecute}
    - {key: twice, value: x}
    - {key: twice, operator: Equal, value: x}
`, []string{
			"spec.policy.tolerations[0].key: found nothing, expected a key, or operator Exists to tolerate every taint",
			`spec.policy.tolerations[1].key: found "a b", expected a name of at most 63 letters, digits, '-', '_' and '.', optionally with a DNS prefix and a slash before it`,
			`spec.policy.tolerations[1].value: found "x", expected nothing, because operator is Exists`,
			`spec.policy.tolerations[2].operator: found "In", expected Equal or Exists`,
			`spec.policy.tolerations[3].value: found "-", expected at most 63 letters, digits, '-', '_' and '.', beginning and ending with a letter or digit`,
			`spec.policy.tolerations[3].effect: found "NoExecute", expected NoSchedule`,
			"spec.policy.tolerations[5]: found the same toleration as item 4, expected each toleration once",
		}},
		{"too many tolerations", "    tolerations: [" + many + "]\n", []string{"spec.policy.tolerations: found a list of 101, expected at most 100 tolerations"}},
	})
}

// A policy has as many constraints, terms and expressions as somebody may need: each is asked of every member, for each pick.
func TestLongPolicies(t *testing.T) {
	constraints := func(n int) string { return "    topologySpreadConstraints: [" + items(n, "{topologyKey: k%d}") + "]\n" }
	preferred := func(n int) string {
		return "    affinity: {clusterAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [" + items(n, "{weight: 1, preference: {labelSelector: {matchLabels: {k: v%d}}}}") + "]}}\n"
	}
	expressions := func(n int) string {
		return "    affinity: {clusterAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {clusterSelectorTerms: [{propertySelector: {matchExpressions: [" +
			items(n, `{name: a, operator: Ne, values: ["%d"]}`) + "]}}]}}}\n"
	}
	const affinity = "spec.policy.affinity.clusterAffinity."
	checkRules(t, crp+selectors+"  policy:\n    placementType: PickN\n    numberOfClusters: 2\n", []rule{
		{"ten constraints", constraints(10), nil},
		{"more constraints", constraints(11), []string{"spec.policy.topologySpreadConstraints: found a list of 11, expected at most 10 constraints"}},
		{"constraints without number", constraints(15_000), []string{"spec.policy.topologySpreadConstraints: found a list of 15000, expected at most 10 constraints"}},
		{"a hundred preferred terms", preferred(100), nil},
		{"more preferred terms", preferred(101), []string{affinity + "preferredDuringSchedulingIgnoredDuringExecution: found a list of 101, expected at most 100 terms"}},
		{"a hundred expressions", expressions(100), nil},
		{"more expressions", expressions(101), []string{
			affinity + "requiredDuringSchedulingIgnoredDuringExecution.clusterSelectorTerms[0].propertySelector.matchExpressions: found a list of 101, expected at most 100 expressions",
		}},
	})
}
