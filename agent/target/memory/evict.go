package memory

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flotilla/agent/target"
	"flotilla/core/apply"
)

// Evict begins the end of a pod when its PodDisruptionBudgets allow it. do-not-disrupt is not the API
// server's to enforce.
func (m *Member) Evict(_ context.Context, ref target.PodRef) error {
	m.mu.Lock()
	defer m.unlock()
	p, err := m.podAt(ref)
	if err != nil {
		return err
	}
	if !p.Ending.IsZero() {
		return nil
	}
	if err := m.spare(p); err != nil {
		return err
	}
	m.terminate(p, p.made.Grace)
	m.tell()
	return nil
}

// DeletePod begins the end of a pod whatever its budgets say, or brings it forward.
func (m *Member) DeletePod(_ context.Context, ref target.PodRef, grace time.Duration) error {
	m.mu.Lock()
	defer m.unlock()
	p, err := m.podAt(ref)
	if err != nil {
		return err
	}
	if grace < 0 {
		grace = p.made.Grace
	}
	m.terminate(p, whole(grace))
	m.tell()
	return nil
}

// whole is a grace in whole seconds, as API servers count them: never 0 by rounding.
func whole(grace time.Duration) time.Duration {
	return (grace + time.Second - 1).Truncate(time.Second)
}

// podAt finds the pod that a call is about.
func (m *Member) podAt(ref target.PodRef) (*pod, error) {
	if err := m.down(); err != nil {
		return nil, err
	}
	pods := schema.GroupResource{Resource: "pods"}
	p := m.pods[ref.String()]
	if p == nil {
		return nil, apierrors.NewNotFound(pods, ref.Name)
	}
	if ref.UID != "" && ref.UID != string(p.UID) {
		return nil, apierrors.NewConflict(pods, ref.Name, fmt.Errorf("uid is %s, not %s", p.UID, ref.UID))
	}
	return p, nil
}

// spare is the eviction API's answer for a pod that its budgets keep. A pod without a node is nobody's
// loss; of unready ones the budget's own policy decides.
func (m *Member) spare(p *pod) error {
	if p.on == nil {
		return nil
	}
	covering := m.covering(p)
	if len(covering) > 1 {
		return apierrors.NewTooManyRequests(fmt.Sprintf(
			"Cannot evict pod: it is covered by more than one disruption budget, %s, which the eviction API does not support", strings.Join(names(covering), " and "),
		), 0)
	}
	for _, s := range covering {
		now := m.budget(s)
		ready := p.isReady(m.clock.Now(), m.faults.StuckAt(apply.RefOf(p.of.Object)))
		always := unhealthyPolicy(s) == string(policyv1.AlwaysAllow)
		if !ready && (always || now.desired > 0 && now.Healthy >= now.desired) {
			continue
		}
		if !m.settled(s) {
			return apierrors.NewTooManyRequests("Cannot evict pod: the disruption budget "+s.Object.GetName()+" is still being processed by the server", 10)
		}
		if now.Allowed <= 0 {
			return apierrors.NewTooManyRequests(fmt.Sprintf(
				"Cannot evict pod as it would violate the pod's disruption budget: the disruption budget %s needs %d healthy pods and has %d currently", s.Object.GetName(), now.desired, now.Healthy,
			), 0)
		}
	}
	return nil
}

func unhealthyPolicy(budget *stored) string {
	text, _, _ := unstructured.NestedString(budget.Object.Object, "spec", "unhealthyPodEvictionPolicy")
	return text
}

// covering lists the PodDisruptionBudgets that cover a pod, by name.
func (m *Member) covering(p *pod) []*stored {
	var out []*stored
	for _, s := range m.objects {
		if s.kind() != kindBudget || s.Object.GetNamespace() != p.of.Object.GetNamespace() {
			continue
		}
		if _, selector, ok := readBudget(s); ok && selector.Matches(labels.Set(p.made.Pod.Labels)) {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b *stored) int { return strings.Compare(a.Object.GetName(), b.Object.GetName()) })
	return out
}

func names(list []*stored) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = s.Object.GetName()
	}
	return out
}
