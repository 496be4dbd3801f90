package validate

import (
	"fmt"
	"strings"
	"testing"
)

// items are n numbered forms, parted by commas.
func items(n int, form string) string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf(form, i)
	}
	return strings.Join(out, ", ")
}

// A label selector is as long as somebody may need, and no longer, wherever it stands.
func TestLongLabelSelectors(t *testing.T) {
	values := func(n int) string {
		return "{matchExpressions: [{key: k, operator: NotIn, values: [" + items(n, "v%d") + "]}]}"
	}
	both := func(labels, expressions int) string {
		return "{matchLabels: {" + items(labels, "l%d: x") + "}, matchExpressions: [" + items(expressions, "{key: e%d, operator: Exists}") + "]}"
	}
	selecting := func(selector string) string {
		return `{group: "", version: v1, kind: Namespace, labelSelector: ` + selector + "}"
	}
	resource := func(selector string) string { return "  resourceSelectors: [" + selecting(selector) + "]\n" }
	term := func(selector string) string {
		return selectors + "  policy: {affinity: {clusterAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {clusterSelectorTerms: [{labelSelector: " + selector + "}]}}}}\n"
	}
	several := func(n, each int) string {
		all := make([]string, n)
		for i := range all {
			all[i] = fmt.Sprintf(`{group: "", version: v1, kind: Kind%d, labelSelector: %s}`, i, both(each, 0))
		}
		return "  resourceSelectors: [" + strings.Join(all, ", ") + "]\n"
	}
	const terms = "spec.policy.affinity.clusterAffinity.requiredDuringSchedulingIgnoredDuringExecution.clusterSelectorTerms[0].labelSelector"
	checkRules(t, crp, []rule{
		{"a thousand values", resource(values(1000)), nil},
		{"more values", resource(values(1001)), []string{
			"spec.resourceSelectors[0].labelSelector.matchExpressions[0].values: found a list of 1001, expected at most 1000 values",
		}},
		{"more values of members", term(values(80_000)), []string{terms + ".matchExpressions[0].values: found a list of 80000, expected at most 1000 values"}},
		{"a hundred requirements", term(both(50, 50)), nil},
		{"more requirements", term(both(50, 51)), []string{terms + ": found a selector of 101 requirements, expected at most 100, labels and expressions together"}},
		{"five hundred requirements in all", several(100, 5), nil},
		{"two lists", `  resourceSelectors: [` + selecting(values(3)) + ", " + selecting(values(4)) + "]\n", nil},
		{"a list twice", `  resourceSelectors: [` + selecting(values(3)) + ", " + selecting(values(3)) + "]\n", []string{
			"spec.resourceSelectors[1]: found Namespace with labels k notin (v0,v1,v2) again, expected each object once; spec.resourceSelectors[0] selects it already",
		}},
		{"more requirements in all", several(51, 10), []string{"spec.resourceSelectors: found selectors of 510 requirements, expected at most 500 in all"}},
	})
}

// The selector of the members that have a pool is read for each member, and so no longer than 2048 bytes.
func TestALongSelectorOfMembers(t *testing.T) {
	pool := func(length int) string {
		const begin = "region notin ("
		selector := begin + strings.Repeat("a,", length)[:length-len(begin)-1] + ")"
		return "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: p, annotations: {flotilla.io/members: \"" + selector + "\"}}\nspec: {template: {spec: {requirements: []}}}\n"
	}
	checkRules(t, "", []rule{
		{"as long as it may be", pool(2048), nil},
		{"longer", pool(2049), []string{`metadata.annotations["flotilla.io/members"]: found 2049 bytes, expected a label selector of at most 2048 bytes`}},
		{"far longer", pool(200_000), []string{`metadata.annotations["flotilla.io/members"]: found 200000 bytes, expected a label selector of at most 2048 bytes`}},
	})
}
