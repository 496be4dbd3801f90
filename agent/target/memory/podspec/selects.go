package podspec

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
)

// Selects reports whether a node of that name has the labels that a pod asks for.
func Selects(spec *corev1.PodSpec, name string, labels map[string]string) bool {
	for key, value := range spec.NodeSelector {
		if had, has := labels[key]; !has || had != value {
			return false
		}
	}
	if a := spec.Affinity; a != nil && a.NodeAffinity != nil {
		if required := a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution; required != nil {
			return Admits(required.NodeSelectorTerms, name, labels)
		}
	}
	return true
}

// Admits reports whether a node is what one of some terms asks for.
func Admits(terms []corev1.NodeSelectorTerm, name string, labels map[string]string) bool {
	return slices.ContainsFunc(terms, func(t corev1.NodeSelectorTerm) bool { return Satisfies(t, name, labels) })
}

// Satisfies reports whether a node is all that a term asks for; a term that asks for nothing is satisfied by none.
func Satisfies(term corev1.NodeSelectorTerm, name string, labels map[string]string) bool {
	for i := range term.MatchExpressions {
		value, has := labels[term.MatchExpressions[i].Key]
		if !holds(&term.MatchExpressions[i], value, has) {
			return false
		}
	}
	for i := range term.MatchFields {
		if !holds(&term.MatchFields[i], name, term.MatchFields[i].Key == "metadata.name") {
			return false
		}
	}
	return len(term.MatchExpressions)+len(term.MatchFields) > 0
}

// holds reports whether a label that a node has, or has not, is as required.
func holds(r *corev1.NodeSelectorRequirement, value string, has bool) bool {
	switch r.Operator {
	case corev1.NodeSelectorOpIn:
		return has && slices.Contains(r.Values, value)
	case corev1.NodeSelectorOpNotIn:
		return !has || !slices.Contains(r.Values, value)
	case corev1.NodeSelectorOpExists:
		return has
	case corev1.NodeSelectorOpDoesNotExist:
		return !has
	case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
		if !has || len(r.Values) != 1 {
			return false
		}
		mine, mineErr := strconv.ParseInt(value, 10, 64)
		bound, boundErr := strconv.ParseInt(r.Values[0], 10, 64)
		return mineErr == nil && boundErr == nil && (r.Operator == corev1.NodeSelectorOpGt && mine > bound || r.Operator == corev1.NodeSelectorOpLt && mine < bound)
	}
	return false
}

// Untolerated is the first taint that keeps a pod with these tolerations off a node, nil when none does.
func Untolerated(tolerations []corev1.Toleration, taints []corev1.Taint) *corev1.Taint {
	for i := range taints {
		if t := &taints[i]; t.Effect != corev1.TaintEffectPreferNoSchedule && !Tolerated(tolerations, t) {
			return t
		}
	}
	return nil
}

// Tolerated reports whether one of some tolerations is for a taint.
func Tolerated(tolerations []corev1.Toleration, taint *corev1.Taint) bool {
	return slices.ContainsFunc(tolerations, func(t corev1.Toleration) bool {
		switch {
		case t.Effect != "" && t.Effect != taint.Effect:
			return false
		case t.Operator == corev1.TolerationOpExists:
			return t.Key == "" || t.Key == taint.Key
		default:
			return t.Key == taint.Key && t.Value == taint.Value
		}
	})
}
