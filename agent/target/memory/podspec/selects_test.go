package podspec

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func TestWhatANodeIsSelectedFor(t *testing.T) {
	name, labels := "a", map[string]string{"disk": "ssd", "cores": "8"}
	for what, c := range map[string]struct {
		one  corev1.NodeSelectorRequirement
		want bool
	}{
		"in":                  {corev1.NodeSelectorRequirement{Key: "disk", Operator: corev1.NodeSelectorOpIn, Values: []string{"hdd", "ssd"}}, true},
		"in others":           {corev1.NodeSelectorRequirement{Key: "disk", Operator: corev1.NodeSelectorOpIn, Values: []string{"hdd"}}, false},
		"in without":          {corev1.NodeSelectorRequirement{Key: "rack", Operator: corev1.NodeSelectorOpIn, Values: []string{""}}, false},
		"not in":              {corev1.NodeSelectorRequirement{Key: "disk", Operator: corev1.NodeSelectorOpNotIn, Values: []string{"ssd"}}, false},
		"not in without":      {corev1.NodeSelectorRequirement{Key: "rack", Operator: corev1.NodeSelectorOpNotIn, Values: []string{"r1"}}, true},
		"exists":              {corev1.NodeSelectorRequirement{Key: "disk", Operator: corev1.NodeSelectorOpExists}, true},
		"does not exist":      {corev1.NodeSelectorRequirement{Key: "disk", Operator: corev1.NodeSelectorOpDoesNotExist}, false},
		"more":                {corev1.NodeSelectorRequirement{Key: "cores", Operator: corev1.NodeSelectorOpGt, Values: []string{"7"}}, true},
		"no more than itself": {corev1.NodeSelectorRequirement{Key: "cores", Operator: corev1.NodeSelectorOpGt, Values: []string{"8"}}, false},
		"less":                {corev1.NodeSelectorRequirement{Key: "cores", Operator: corev1.NodeSelectorOpLt, Values: []string{"9"}}, true},
		"less than no number": {corev1.NodeSelectorRequirement{Key: "disk", Operator: corev1.NodeSelectorOpLt, Values: []string{"9"}}, false},
		"less without":        {corev1.NodeSelectorRequirement{Key: "rack", Operator: corev1.NodeSelectorOpLt, Values: []string{"9"}}, false},
		"an operator to come": {corev1.NodeSelectorRequirement{Key: "disk", Operator: "Like"}, false},
	} {
		t.Run(what, func(t *testing.T) {
			require.Equal(t, c.want, Satisfies(corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{c.one}}, name, labels))
			both := corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "disk", Operator: corev1.NodeSelectorOpExists}, c.one}}
			require.Equal(t, c.want, Satisfies(both, name, labels))
		})
	}
	require.False(t, Satisfies(corev1.NodeSelectorTerm{}, name, labels), "a term without anything")
	byName := func(name string) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{name}}}}
	}
	require.True(t, Admits([]corev1.NodeSelectorTerm{byName("b"), byName("a")}, name, labels))
	require.False(t, Admits([]corev1.NodeSelectorTerm{byName("b")}, name, labels))
	require.True(t, Selects(&corev1.PodSpec{NodeSelector: map[string]string{"disk": "ssd"}}, name, labels))
	require.False(t, Selects(&corev1.PodSpec{NodeSelector: map[string]string{"disk": "ssd", "rack": ""}}, name, labels))
}

func TestWhatIsTolerated(t *testing.T) {
	taint := corev1.Taint{Key: "k", Value: "v", Effect: corev1.TaintEffectNoSchedule}
	for name, c := range map[string]struct {
		toleration corev1.Toleration
		want       bool
	}{
		"everything":     {corev1.Toleration{Operator: corev1.TolerationOpExists}, true},
		"its key":        {corev1.Toleration{Key: "k", Operator: corev1.TolerationOpExists}, true},
		"its value":      {corev1.Toleration{Key: "k", Value: "v"}, true},
		"another value":  {corev1.Toleration{Key: "k", Value: "w", Operator: corev1.TolerationOpEqual}, false},
		"another effect": {corev1.Toleration{Key: "k", Value: "v", Effect: corev1.TaintEffectNoExecute}, false},
		"its effect":     {corev1.Toleration{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}, true},
		"another key":    {corev1.Toleration{Key: "x", Operator: corev1.TolerationOpExists}, false},
		"no key at all":  {corev1.Toleration{Value: "v"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, Untolerated([]corev1.Toleration{c.toleration}, []corev1.Taint{taint}) == nil)
		})
	}
	soft := corev1.Taint{Key: "s", Effect: corev1.TaintEffectPreferNoSchedule}
	require.Nil(t, Untolerated(nil, []corev1.Taint{soft}))
	require.Equal(t, &taint, Untolerated(nil, []corev1.Taint{soft, taint}))
}

func TestWhatAPodTakes(t *testing.T) {
	asks := func(cpu string) corev1.Container {
		return corev1.Container{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}}}
	}
	sidecar := asks("200m")
	sidecar.RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
	for name, c := range map[string]struct {
		spec corev1.PodSpec
		want int64
	}{
		"its containers":             {corev1.PodSpec{Containers: []corev1.Container{asks("1"), asks("500m")}}, 1500},
		"its start":                  {corev1.PodSpec{InitContainers: []corev1.Container{asks("2"), asks("1")}, Containers: []corev1.Container{asks("1")}}, 2000},
		"what runs beside":           {corev1.PodSpec{InitContainers: []corev1.Container{sidecar}, Containers: []corev1.Container{asks("1")}}, 1200},
		"a start beside":             {corev1.PodSpec{InitContainers: []corev1.Container{sidecar, asks("2")}, Containers: []corev1.Container{asks("1")}}, 2200},
		"a start before what beside": {corev1.PodSpec{InitContainers: []corev1.Container{asks("2"), sidecar}, Containers: []corev1.Container{asks("1")}}, 2000},
		"its overhead":               {corev1.PodSpec{Containers: []corev1.Container{asks("1")}, Overhead: asks("100m").Resources.Requests}, 1100},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, AmountsOf(requests(&c.spec)).CPU) })
	}
}
