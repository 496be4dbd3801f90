package memory

import (
	"cmp"
	"context"
	"slices"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"flotilla/agent/target"
	"flotilla/core/apply"
	"flotilla/core/strict"
)

// budgetSpec is the part of a PodDisruptionBudget that its controller reads.
type budgetSpec struct {
	MinAvailable   *intstr.IntOrString   `json:"minAvailable,omitempty"`
	MaxUnavailable *intstr.IntOrString   `json:"maxUnavailable,omitempty"`
	Selector       *metav1.LabelSelector `json:"selector,omitempty"`
}

const kindBudget = "PodDisruptionBudget.policy"

// Budgets lists the pod disruption budgets as their controller judges them now.
func (m *Member) Budgets(context.Context) ([]target.Budget, error) {
	m.mu.Lock()
	defer m.unlock()
	if err := m.down(); err != nil {
		return nil, err
	}
	var out []target.Budget
	for _, s := range m.objects {
		if s.kind() == kindBudget {
			out = append(out, m.budget(s).Budget)
		}
	}
	slices.SortFunc(out, func(a, b target.Budget) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return out, nil
}

// verdict is a budget as its controller judges it, with how many pods must stay healthy.
type verdict struct {
	target.Budget
	desired int
}

// budget counts the pods that a budget covers, as the disruption controller does: percentages round up.
func (m *Member) budget(s *stored) verdict {
	b := verdict{Budget: target.Budget{Namespace: s.Object.GetNamespace(), Name: s.Object.GetName()}}
	spec, selector, ok := readBudget(s)
	if !ok {
		return b
	}
	b.Expected, b.Healthy = m.covered(b.Namespace, selector)
	b.desired = desired(spec, b.Expected)
	b.Allowed = max(b.Healthy-b.desired, 0)
	return b
}

// readBudget is false for a budget that cannot be read: it covers nothing.
func readBudget(s *stored) (*budgetSpec, labels.Selector, bool) {
	found, _, _ := unstructured.NestedMap(s.Object.Object, "spec")
	spec := &budgetSpec{}
	if err := strict.FromUnstructured(found, spec); err != nil {
		return nil, nil, false
	}
	selector, err := metav1.LabelSelectorAsSelector(spec.Selector)
	return spec, selector, err == nil
}

// covered counts the pods of a namespace that a selector matches, and the healthy ones among them.
func (m *Member) covered(namespace string, selector labels.Selector) (expected, healthy int) {
	for _, s := range m.objects {
		if s.Object.GetNamespace() != namespace || !s.workload() || !selector.Matches(labels.Set(s.template().Pod.Labels)) {
			continue
		}
		ready, _ := m.census(s)
		expected += len(s.Pods)
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

func budgetID(b *policyv1.PodDisruptionBudget) apply.Identity {
	return apply.Identity{Group: policyv1.GroupName, Kind: "PodDisruptionBudget", Namespace: b.Namespace, Name: b.Name}
}

func (m *Member) budgetStatus(s *stored) map[string]any {
	b := m.budget(s)
	return map[string]any{
		"observedGeneration": s.Object.GetGeneration(),
		"expectedPods":       int64(b.Expected),
		"currentHealthy":     int64(b.Healthy),
		"disruptionsAllowed": int64(b.Allowed),
		"conditions":         []any{condition("DisruptionAllowed", b.Allowed > 0, "SufficientPods", "")},
	}
}
