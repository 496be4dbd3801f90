package cluster

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
)

// What a pod may demand of nodes and of other pods before it is tangled; a few of each are usual.
const (
	// MaxTerms bounds its terms of affinity, of anti-affinity and of spread, required and preferred.
	MaxTerms = 50
	// MaxTermValues bounds what all of them name: requirements, their values, and namespaces.
	MaxTermValues = 1000
)

// tangle is what a pod demands of nodes and of other pods.
type tangle struct{ terms, values int }

// tangled reports whether a pod demands more than decisions follow.
func tangled(s *api.PodState) bool {
	var t tangle
	if a := s.Affinity; a != nil {
		t.nodes(a.NodeAffinity)
		if near := a.PodAffinity; near != nil {
			t.pods(near.RequiredDuringSchedulingIgnoredDuringExecution, near.PreferredDuringSchedulingIgnoredDuringExecution)
		}
		if apart := a.PodAntiAffinity; apart != nil {
			t.pods(apart.RequiredDuringSchedulingIgnoredDuringExecution, apart.PreferredDuringSchedulingIgnoredDuringExecution)
		}
	}
	for i := range s.Spread {
		c := &s.Spread[i]
		t.add(c.LabelSelector, len(c.MatchLabelKeys))
		t.terms++
	}
	for i := range s.Volumes {
		for j := range s.Volumes[i].Terms {
			t.node(&s.Volumes[i].Terms[j])
		}
	}
	return t.terms > MaxTerms || t.values > MaxTermValues
}

func (t *tangle) add(s *metav1.LabelSelector, more int) { t.values += ValuesOf(s) + more }

// ValuesOf is how much a label selector names: requirements, and values of them.
func ValuesOf(s *metav1.LabelSelector) (values int) {
	if s == nil {
		return 0
	}
	values = len(s.MatchLabels) + len(s.MatchExpressions)
	for i := range s.MatchExpressions {
		values += len(s.MatchExpressions[i].Values)
	}
	return values
}

func (t *tangle) pods(required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm) {
	t.terms += len(required) + len(preferred)
	one := func(term *corev1.PodAffinityTerm) {
		t.add(term.LabelSelector, len(term.Namespaces)+len(term.MatchLabelKeys)+len(term.MismatchLabelKeys))
		t.add(term.NamespaceSelector, 0)
	}
	for i := range required {
		one(&required[i])
	}
	for i := range preferred {
		one(&preferred[i].PodAffinityTerm)
	}
}

func (t *tangle) nodes(a *corev1.NodeAffinity) {
	if a == nil {
		return
	}
	if r := a.RequiredDuringSchedulingIgnoredDuringExecution; r != nil {
		for i := range r.NodeSelectorTerms {
			t.node(&r.NodeSelectorTerms[i])
		}
	}
	for i := range a.PreferredDuringSchedulingIgnoredDuringExecution {
		t.node(&a.PreferredDuringSchedulingIgnoredDuringExecution[i].Preference)
	}
}

func (t *tangle) node(term *corev1.NodeSelectorTerm) {
	t.terms++
	for _, list := range [][]corev1.NodeSelectorRequirement{term.MatchExpressions, term.MatchFields} {
		for i := range list {
			t.values += 1 + len(list[i].Values)
		}
	}
}
