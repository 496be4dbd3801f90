package memory

import (
	"cmp"
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"flotilla/agent/target"
)

// budgetSpec is the part of a PodDisruptionBudget that its controller reads.
type budgetSpec struct {
	MinAvailable   *intstr.IntOrString   `json:"minAvailable,omitempty"`
	MaxUnavailable *intstr.IntOrString   `json:"maxUnavailable,omitempty"`
	Selector       *metav1.LabelSelector `json:"selector,omitempty"`
}

// Budgets lists the pod disruption budgets as their controller judges them now.
func (m *Member) Budgets(context.Context) ([]target.Budget, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.down(); err != nil {
		return nil, err
	}
	var out []target.Budget
	for _, s := range m.objects {
		if s.object.GroupVersionKind().GroupKind().String() == "PodDisruptionBudget.policy" {
			out = append(out, m.budget(s))
		}
	}
	slices.SortFunc(out, func(a, b target.Budget) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return out, nil
}

// budget counts the pods that a budget covers, as the disruption controller does: percentages round up.
func (m *Member) budget(s *stored) target.Budget {
	b := target.Budget{Namespace: s.object.GetNamespace(), Name: s.object.GetName()}
	found, _, _ := unstructured.NestedMap(s.object.Object, "spec")
	var spec budgetSpec
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(found, &spec); err != nil {
		return b
	}
	selector, err := metav1.LabelSelectorAsSelector(spec.Selector)
	if err != nil {
		return b
	}
	b.Expected, b.Healthy = m.covered(b.Namespace, selector)
	b.Allowed = max(b.Healthy-desired(&spec, b.Expected), 0)
	return b
}

// covered counts the pods of a namespace that a selector matches, and the healthy ones among them.
func (m *Member) covered(namespace string, selector labels.Selector) (expected, healthy int) {
	for _, s := range m.objects {
		if s.object.GetNamespace() != namespace || !s.workload() || !selector.Matches(s.podLabels()) {
			continue
		}
		ready, _ := m.census(s)
		expected += len(s.pods)
		healthy += int(ready)
	}
	return expected, healthy
}

func desired(spec *budgetSpec, expected int) int {
	scaled := func(v *intstr.IntOrString) int {
		n, err := intstr.GetScaledValueFromIntOrPercent(v, expected, true)
		if err != nil {
			return expected
		}
		return n
	}
	switch {
	case spec.MaxUnavailable != nil:
		return max(expected-scaled(spec.MaxUnavailable), 0)
	case spec.MinAvailable != nil:
		return scaled(spec.MinAvailable)
	}
	return 0
}

// podLabels are those of the pods of a workload.
func (s *stored) podLabels() labels.Set {
	if s.object.GetKind() == "Pod" {
		return s.object.GetLabels()
	}
	found, _, _ := unstructured.NestedStringMap(s.object.Object, "spec", "template", "metadata", "labels")
	return found
}

func (m *Member) budgetStatus(s *stored) map[string]any {
	b := m.budget(s)
	return map[string]any{
		"observedGeneration": s.object.GetGeneration(),
		"expectedPods":       int64(b.Expected),
		"currentHealthy":     int64(b.Healthy),
		"disruptionsAllowed": int64(b.Allowed),
		"conditions":         []any{condition("DisruptionAllowed", b.Allowed > 0, "SufficientPods", "")},
	}
}
