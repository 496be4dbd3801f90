package schedule_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/schedule"
)

const noMatch = "affinity: ClusterUnschedulable, cluster does not match with any of the required cluster affinity terms: "

func TestLabelSelectors(t *testing.T) {
	for name, c := range map[string]struct {
		term   api.ClusterSelectorTerm
		misses string // empty when "eastus" matches
		absent string // of a member without the label
	}{
		"matchLabels":   {labelTerm("region", "eastus"), "", `region is absent, wanted "eastus"`},
		"another":       {labelTerm("region", "westus"), `region is "eastus", wanted "westus"`, `region is absent, wanted "westus"`},
		"In":            {expressionTerm("region", metav1.LabelSelectorOpIn, "northeurope", "eastus"), "", "region is absent, wanted In (northeurope, eastus)"},
		"In others":     {expressionTerm("region", metav1.LabelSelectorOpIn, "westus", "northeurope"), `region is "eastus", wanted In (westus, northeurope)`, "region is absent, wanted In (westus, northeurope)"},
		"NotIn":         {expressionTerm("region", metav1.LabelSelectorOpNotIn, "eastus"), `region is "eastus", wanted NotIn (eastus)`, ""},
		"Exists":        {expressionTerm("region", metav1.LabelSelectorOpExists), "", "region is absent, wanted any value"},
		"DoesNotExist":  {expressionTerm("region", metav1.LabelSelectorOpDoesNotExist), `region is "eastus", wanted absent`, ""},
		"empty":         {api.ClusterSelectorTerm{LabelSelector: &metav1.LabelSelector{}}, "", ""},
		"nil":           {api.ClusterSelectorTerm{}, "", ""},
		"key of nobody": {expressionTerm("ring", metav1.LabelSelectorOpNotIn, "1"), "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			plan := schedule.Schedule(input(pickAll(c.term), member("has", label("region", "eastus")), member("lacks")))
			want := map[string]string{}
			if c.misses != "" {
				want["has"] = noMatch + c.misses
			}
			if c.absent != "" {
				want["lacks"] = noMatch + c.absent
			}
			require.Equal(t, want, reasons(&plan))
		})
	}
}

// Operators compare exactly, quantity with quantity, whatever the spelling.
func TestPropertyOperators(t *testing.T) {
	operators := []api.PropertyOperator{api.OpGt, api.OpGe, api.OpEq, api.OpNe, api.OpLt, api.OpLe}
	above, equal, below := "GtGeNe", "GeEqLe", "NeLtLe"
	for _, c := range []struct{ observed, wanted, pass string }{
		{"6", "5", above},
		{"5", "5", equal},
		{"4", "5", below},
		{"0", "0", equal},
		{"-5", "-4", below},
		{"1500m", "1.5", equal},
		{"1501m", "1.5", above},
		{"2Gi", "2G", above},
		{"2G", "2Gi", below},
		{"1e9", "1G", equal},
		{"100m", "0.1", equal},
		{"300m", "0.3", equal},
		{"0.7", "700m", equal},
		{"0.1000", "100m", equal},
		{"9007199254740993", "9007199254740992", above},
		{"9007199254740992", "9007199254740993", below},
		{"0.123456789", "0.123456788", above},
		{"100000000000000000000000001", "100000000000000000000000000", above},
		{"v1.29.4", "1", ""},
		{"", "1", ""},
		{"5", "five", ""},
	} {
		for _, operator := range operators {
			plan := schedule.Schedule(input(pickAll(propertyTerm("example.com/n", operator, c.wanted)), member("m", property("example.com/n", c.observed))))
			require.Equal(t, contains(c.pass, operator), len(plan.Bindings) == 1, "%s %s %s", c.observed, operator, c.wanted)
		}
	}
	for _, operator := range operators {
		plan := schedule.Schedule(input(pickAll(propertyTerm("example.com/n", operator, "1")), member("m", property("other", "1"))))
		require.Equal(t, map[string]bool{"m": true}, refused(&plan), "an absent property fails %s", operator)
	}
}

func contains(operators string, operator api.PropertyOperator) bool {
	for i := 0; i+2 <= len(operators); i += 2 {
		if operators[i:i+2] == string(operator) {
			return true
		}
	}
	return false
}

func refused(plan *schedule.Plan) map[string]bool {
	found := map[string]bool{}
	for member := range reasons(plan) {
		found[member] = true
	}
	return found
}

func TestPropertyReasons(t *testing.T) {
	const storage = api.PropertyResourcePrefix + "total-ephemeral-storage"
	for name, c := range map[string]struct {
		term   api.ClusterSelectorTerm
		reason string
	}{
		"too few": {propertyTerm(api.PropertyNodeCount, api.OpGe, "5"), "kubernetes-fleet.io/node-count is 3, wanted >= 5"},
		"the other spelling is the same property (D13)": {
			propertyTerm(api.PropertyNodeCountAKS, api.OpGt, "3"),
			"kubernetes-fleet.io/node-count is 3, wanted > 3",
		},
		"no quantity shows the value (D1)": {
			propertyTerm("k8s.io/k8s-version", api.OpGe, "1"),
			`k8s.io/k8s-version is "v1.29.4", which is not a quantity, wanted >= 1`,
		},
		"a dash in the resource (D1)": {propertyTerm(storage, api.OpGt, "3Gi"), storage + " is 2Gi, wanted > 3Gi"},
		"absent":                      {propertyTerm("example.com/carbon", api.OpNe, "1"), "example.com/carbon is absent, wanted != 1"},
		"two values":                  {propertyTerm(api.PropertyNodeCount, api.OpEq, "3", "4"), "kubernetes-fleet.io/node-count is 3, wanted = 3, 4 (exactly one value)"},
		"wanted no quantity":          {propertyTerm(api.PropertyNodeCount, api.OpEq, "three"), "kubernetes-fleet.io/node-count is 3, wanted = three, which is not a quantity"},
		"unknown operator":            {propertyTerm(api.PropertyNodeCount, "Like", "3"), "kubernetes-fleet.io/node-count is 3, wanted an operator of Gt, Ge, Eq, Ne, Lt, Le instead of Like"},
	} {
		t.Run(name, func(t *testing.T) {
			plan := schedule.Schedule(input(pickAll(c.term), member("m", property(api.PropertyNodeCount, "3"),
				property("k8s.io/k8s-version", "v1.29.4"), property(storage, "2Gi"))))
			require.Equal(t, map[string]string{"m": noMatch + c.reason}, reasons(&plan))
		})
	}
}

// Terms are alternatives, what stands in one term must hold together, and each term tells what it
// missed first.
func TestTermsAreAlternatives(t *testing.T) {
	both := labelTerm("env", "prod")
	both.PropertySelector = propertyTerm(api.PropertyNodeCount, api.OpGe, "5").PropertySelector
	p := pickAll(both, labelTerm("tier", "gold"))
	plan := schedule.Schedule(input(p,
		member("both", label("env", "prod"), property(api.PropertyNodeCount, "7")),
		member("gold", label("tier", "gold")),
		member("half", label("env", "prod"), property(api.PropertyNodeCount, "2")),
		member("none")))
	require.Equal(t, map[string]string{
		"half": noMatch + `term 1: kubernetes-fleet.io/node-count is 2, wanted >= 5; term 2: tier is absent, wanted "gold"`,
		"none": noMatch + `term 1: env is absent, wanted "prod"; term 2: tier is absent, wanted "gold"`,
	}, reasons(&plan))
	require.Len(t, schedule.Schedule(input(pickAll(), member("m"))).Bindings, 1, "an empty list of terms matches everything")
}

// What is wrong with one member concerns that member alone (D5).
func TestBadPropertyConcernsItsMemberAlone(t *testing.T) {
	p := pickN(3, required(propertyTerm("example.com/n", api.OpGe, "1")), prefer(10, sorter("example.com/n", api.Descending)))
	plan := schedule.Schedule(input(p, member("a", property("example.com/n", "free")),
		member("b", property("example.com/n", "3")), member("c", property("example.com/n", "1"))))
	require.Equal(t, map[string][2]int32{"b": {10, 0}, "c": {0, 0}}, scores(plan.Bindings))
	require.Equal(t, map[string]string{"a": noMatch + `example.com/n is "free", which is not a quantity, wanted >= 1`}, reasons(&plan))
}
