package apply

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"flotilla/core/strict"
)

// SelectorOf selects the pods of a workload; false for what has none.
func SelectorOf(workload *unstructured.Unstructured) (labels.Selector, bool) {
	found, ok, err := unstructured.NestedMap(workload.Object, "spec", "selector")
	if !ok || err != nil || workload.GetNamespace() == "" || !hasTemplate(workload) {
		return nil, false
	}
	var selector metav1.LabelSelector
	if strict.FromUnstructured(found, &selector) != nil {
		return nil, false
	}
	parsed, err := metav1.LabelSelectorAsSelector(&selector)
	return parsed, err == nil && !parsed.Empty()
}

func hasTemplate(workload *unstructured.Unstructured) bool {
	_, ok, err := unstructured.NestedFieldNoCopy(workload.Object, "spec", "template")
	return ok && err == nil
}

// Hindered says what keeps the pods of a workload from being ready, in words that stay the same while nothing
// changes: "2 of 3 pods, first web-1: image registry.example/web:v2 cannot be pulled"; empty when none says so.
func Hindered(pods []*corev1.Pod) string {
	first, hindered, alive := "", 0, 0
	for _, pod := range slices.SortedFunc(slices.Values(pods), func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) }) {
		if pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodSucceeded {
			continue
		}
		alive++
		why := hindrance(pod)
		if why == "" {
			continue
		}
		hindered++
		if first == "" {
			first = pod.Name + ": " + why
		}
	}
	switch hindered {
	case 0:
		return ""
	case 1:
		return "pod " + first
	}
	return fmt.Sprintf("%d of %d pods, first %s", hindered, alive, first)
}

// hindrance is what keeps one pod.
func hindrance(pod *corev1.Pod) string {
	for i := range pod.Status.Conditions {
		c := &pod.Status.Conditions[i]
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Message != "" {
			return "finds no room: " + c.Message
		}
	}
	for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if why := waiting(&status); why != "" && !status.Ready {
			return why
		}
	}
	if pod.Status.Phase == corev1.PodFailed {
		return cmp.Or(pod.Status.Message, pod.Status.Reason, "failed")
	}
	return ""
}

// waiting is why a container does not run. One that crashes and is started again and again is called so also while
// it runs for a moment.
func waiting(status *corev1.ContainerStatus) string {
	ended := status.LastTerminationState.Terminated
	if ended == nil {
		ended = status.State.Terminated
	}
	crashes := ended != nil && ended.ExitCode != 0
	w := status.State.Waiting
	switch {
	case w != nil && strings.Contains(w.Reason, "Image") && w.Reason != "ContainerCreating":
		return fmt.Sprintf("image %s cannot be pulled (ImagePullBackOff)", status.Image)
	case crashes:
		return fmt.Sprintf("container %s crashes with exit code %d (CrashLoopBackOff)", status.Name, ended.ExitCode)
	case w == nil || w.Reason == "ContainerCreating" || w.Reason == "PodInitializing":
		return ""
	case w.Reason == "CrashLoopBackOff":
		return fmt.Sprintf("container %s crashes (CrashLoopBackOff)", status.Name)
	case w.Message != "":
		return fmt.Sprintf("container %s: %s: %s", status.Name, w.Reason, w.Message)
	}
	return fmt.Sprintf("container %s: %s", status.Name, w.Reason)
}

// namesPod is how an API server begins to say that it does not let a pod be made, whose name is another each time.
var namesPod = regexp.MustCompile(`^pods "[^"]*" is forbidden: `)

func withoutPodName(message string) string { return namesPod.ReplaceAllString(message, "") }
