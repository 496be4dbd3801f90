package cluster

import (
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
)

// A pod is tangled when it has more terms, or names more values in them, than decisions follow, whatever sort of terms they are.
func TestTangledPods(t *testing.T) {
	named := func(n int) *metav1.LabelSelector {
		values := make([]string, n)
		for i := range values {
			values[i] = strconv.Itoa(i)
		}
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "k", Operator: metav1.LabelSelectorOpNotIn, Values: values}}}
	}
	required := func(n int, s *metav1.LabelSelector) []corev1.PodAffinityTerm {
		return slices.Repeat([]corev1.PodAffinityTerm{{TopologyKey: corev1.LabelHostname, LabelSelector: s}}, n)
	}
	preferred := func(n int, s *metav1.LabelSelector) []corev1.WeightedPodAffinityTerm {
		return slices.Repeat([]corev1.WeightedPodAffinityTerm{{Weight: 1, PodAffinityTerm: corev1.PodAffinityTerm{LabelSelector: s}}}, n)
	}
	node := func(values int) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "k", Operator: corev1.NodeSelectorOpIn, Values: named(values).MatchExpressions[0].Values}}}
	}
	nodes := func(n, values int) *corev1.NodeAffinity {
		return &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: slices.Repeat([]corev1.NodeSelectorTerm{node(values)}, n)}}
	}
	spread := func(n int, s *metav1.LabelSelector) []corev1.TopologySpreadConstraint {
		return slices.Repeat([]corev1.TopologySpreadConstraint{{MaxSkew: 1, LabelSelector: s}}, n)
	}
	softly := func(n, values int) *corev1.NodeAffinity {
		return &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: slices.Repeat([]corev1.PreferredSchedulingTerm{{Weight: 1, Preference: node(values)}}, n)}
	}
	for name, of := range map[string]func(n, values int) api.PodState{
		"anti-affinity": func(n, values int) api.PodState {
			return api.PodState{Affinity: &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: required(n, named(values))}}}
		},
		"preferred anti-affinity": func(n, values int) api.PodState {
			return api.PodState{Affinity: &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: preferred(n, named(values))}}}
		},
		"affinity": func(n, values int) api.PodState {
			return api.PodState{Affinity: &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: required(n, named(values))}}}
		},
		"preferred affinity": func(n, values int) api.PodState {
			return api.PodState{Affinity: &corev1.Affinity{PodAffinity: &corev1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: preferred(n, named(values))}}}
		},
		"spread": func(n, values int) api.PodState { return api.PodState{Spread: spread(n, named(values))} },
		"nodes": func(n, values int) api.PodState {
			return api.PodState{Affinity: &corev1.Affinity{NodeAffinity: nodes(n, values)}}
		},
		"preferred nodes": func(n, values int) api.PodState {
			return api.PodState{Affinity: &corev1.Affinity{NodeAffinity: softly(n, values)}}
		},
	} {
		for _, c := range []struct {
			terms, values int
			want          bool
		}{{0, 0, false}, {1, 3, false}, {MaxTerms, 3, false}, {MaxTerms + 1, 0, true}, {1, MaxTermValues - 1, false}, {1, MaxTermValues, true}, {10, MaxTermValues/10 - 1, false}, {10, MaxTermValues / 10, true}} {
			s := of(c.terms, c.values)
			require.Equal(t, c.want, NewCluster().NewPod(&s).Tangled, "%s: %d terms of %d values", name, c.terms, c.values)
		}
	}
}
