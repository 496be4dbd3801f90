package kube

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"flotilla/agent/target"
)

// Evict asks the eviction API. What it refuses it is not asked again here, though it says when that may help: the caller
// has many pods to see to.
func (t *Target) Evict(ctx context.Context, pod target.PodRef) error {
	eviction := &policyv1.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
		DeleteOptions: &metav1.DeleteOptions{Preconditions: onlyUID(pod.UID)},
	}
	err := t.clients.PolicyV1().RESTClient().Post().AbsPath("/api/v1").Namespace(pod.Namespace).
		Resource("pods").Name(pod.Name).SubResource("eviction").MaxRetries(0).Body(eviction).Do(ctx).Error()
	return t.refusal(pod, err)
}

// refusal names the PodDisruptionBudgets that keep a pod. Of several that cover it the API server names none, and calls
// it an error of its own.
func (t *Target) refusal(pod target.PodRef, err error) error {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return err
	}
	said := status.Status()
	switch {
	case apierrors.IsTooManyRequests(err) && said.Details != nil:
		for _, cause := range said.Details.Causes {
			said.Message += " " + cause.Message
		}
		return &apierrors.StatusError{ErrStatus: said}
	case said.Code == http.StatusInternalServerError:
		if covering := t.covering(pod); len(covering) > 1 {
			return apierrors.NewTooManyRequests(fmt.Sprintf(
				"Cannot evict pod: it is covered by more than one disruption budget, %s, which the eviction API does not support", strings.Join(covering, " and "),
			), 0)
		}
	}
	return err
}

// covering names the PodDisruptionBudgets that cover a pod.
func (t *Target) covering(ref target.PodRef) []string {
	pods, _ := objects[*corev1.Pod](t.census.pods)
	budgets, _ := objects[*policyv1.PodDisruptionBudget](t.census.budget)
	var names []string
	for _, pod := range pods {
		if pod.Namespace != ref.Namespace || pod.Name != ref.Name {
			continue
		}
		for _, budget := range budgets {
			selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
			if err == nil && budget.Namespace == pod.Namespace && selector.Matches(labels.Set(pod.Labels)) {
				names = append(names, budget.Name)
			}
		}
	}
	return names
}

// DeletePod deletes a pod whatever its budgets say. The API server itself never extends a grace that runs.
func (t *Target) DeletePod(ctx context.Context, pod target.PodRef, grace time.Duration) error {
	o := metav1.DeleteOptions{Preconditions: onlyUID(pod.UID)}
	if grace >= 0 {
		o.GracePeriodSeconds = new(int64((grace + time.Second - 1) / time.Second))
	}
	return t.clients.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, o)
}

// onlyUID is the precondition that an object has a uid; none for an empty one.
func onlyUID(uid string) *metav1.Preconditions {
	if uid == "" {
		return nil
	}
	return &metav1.Preconditions{UID: new(types.UID(uid))}
}
