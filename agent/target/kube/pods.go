package kube

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"flotilla/core/apply"
)

// PodsOf lists those that are watched.
func (t *Target) PodsOf(_ context.Context, workload *unstructured.Unstructured) ([]*corev1.Pod, error) {
	selector, selects := apply.SelectorOf(workload)
	if !selects {
		return nil, nil
	}
	all, err := objects[*corev1.Pod](t.census.pods)
	var pods []*corev1.Pod
	for _, pod := range all {
		if pod.Namespace == workload.GetNamespace() && selector.Matches(labels.Set(pod.Labels)) {
			pods = append(pods, pod)
		}
	}
	return pods, err
}
