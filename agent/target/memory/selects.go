package memory

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
)

// What a pod may ask of the labels and taints of its node is judged here as the API says, and by nothing that simulations
// of disruptions use: a simulation that is wrong must not be right here.

// selected reports whether a node has the labels that a pod asks for.
func (n *node) selected(spec *corev1.PodSpec) bool {
	for key, value := range spec.NodeSelector {
		if had, has := n.labels[key]; !has || had != value {
			return false
		}
	}
	if a := spec.Affinity; a != nil && a.NodeAffinity != nil {
		if required := a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution; required != nil {
			return n.admitted(required.NodeSelectorTerms)
		}
	}
	return true
}

// admitted reports whether a node is what one of some terms asks for.
func (n *node) admitted(terms []corev1.NodeSelectorTerm) bool {
	return slices.ContainsFunc(terms, n.satisfies)
}

// satisfies reports whether a node is all that a term asks for; a term that asks for nothing is satisfied by none.
func (n *node) satisfies(term corev1.NodeSelectorTerm) bool {
	for i := range term.MatchExpressions {
		value, has := n.labels[term.MatchExpressions[i].Key]
		if !holds(&term.MatchExpressions[i], value, has) {
			return false
		}
	}
	for i := range term.MatchFields {
		if !holds(&term.MatchFields[i], n.Name, term.MatchFields[i].Key == "metadata.name") {
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

// untolerated is the first taint that keeps a pod with these tolerations off a node, nil when none does.
func untolerated(tolerations []corev1.Toleration, taints []corev1.Taint) *corev1.Taint {
	for i := range taints {
		if t := &taints[i]; t.Effect != corev1.TaintEffectPreferNoSchedule && !tolerated(tolerations, t) {
			return t
		}
	}
	return nil
}

func tolerated(tolerations []corev1.Toleration, taint *corev1.Taint) bool {
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
