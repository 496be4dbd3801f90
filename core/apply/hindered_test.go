package apply

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

func podNamed(name string, status corev1.PodStatus) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: status}
}

func container(state, last corev1.ContainerState) corev1.PodStatus {
	return corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "web", Image: "registry.example/web:v1", State: state, LastTerminationState: last}}}
}

func held(reason, message string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
}

// What keeps pods is said in words that stay the same from one try to the next.
func TestHindered(t *testing.T) {
	crashed := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 3}}
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	crash := "pod web-1: container web crashes with exit code 3 (CrashLoopBackOff)"
	pull := "pod web-1: image registry.example/web:v1 cannot be pulled (ImagePullBackOff)"
	for name, c := range map[string]struct {
		status corev1.PodStatus
		want   string
	}{
		"runs":                      {container(running, corev1.ContainerState{}), ""},
		"is being made":             {container(held("ContainerCreating", ""), corev1.ContainerState{}), ""},
		"waits to be pulled":        {container(held("ErrImagePull", "rpc error 1"), corev1.ContainerState{}), pull},
		"waits to be pulled again":  {container(held("ImagePullBackOff", "Back-off 20s"), corev1.ContainerState{}), pull},
		"crashes and waits":         {container(held("CrashLoopBackOff", "back-off 20s"), crashed), crash},
		"crashes and runs a moment": {container(running, crashed), crash},
		"has just crashed":          {container(crashed, corev1.ContainerState{}), crash},
		"crashes, for once unknown": {container(held("CrashLoopBackOff", "back-off 40s"), corev1.ContainerState{}), "pod web-1: container web crashes (CrashLoopBackOff)"},
		"lacks a ConfigMap": {
			container(held("CreateContainerConfigError", `configmap "c" not found`), corev1.ContainerState{}),
			`pod web-1: container web: CreateContainerConfigError: configmap "c" not found`,
		},
		"finds no room": {
			corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "0/3 nodes are available: 3 Insufficient cpu."}}},
			"pod web-1: finds no room: 0/3 nodes are available: 3 Insufficient cpu.",
		},
		"was evicted": {corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted"}, "pod web-1: Evicted"},
		"is done":     {corev1.PodStatus{Phase: corev1.PodSucceeded}, ""},
	} {
		require.Equal(t, c.want, Hindered([]*corev1.Pod{podNamed("web-1", c.status)}), name)
	}
	waits := container(held("ImagePullBackOff", ""), corev1.ContainerState{})
	leaving := podNamed("web-0", waits)
	leaving.DeletionTimestamp = &metav1.Time{}
	require.Equal(t, "2 of 3 pods, first web-1: image registry.example/web:v1 cannot be pulled (ImagePullBackOff)", Hindered([]*corev1.Pod{
		podNamed("web-3", waits), podNamed("web-2", container(running, corev1.ContainerState{})), podNamed("web-1", waits), leaving,
	}))
	require.Empty(t, Hindered(nil))
}

func TestSelectorOf(t *testing.T) {
	selector, is := SelectorOf(object(t, "{apiVersion: apps/v1, kind: Deployment, metadata: {name: d, namespace: shop}, spec: {selector: {matchLabels: {app: web}}, template: {}}}"))
	require.True(t, is)
	require.True(t, selector.Matches(labels.Set{"app": "web", "more": "x"}))
	require.False(t, selector.Matches(labels.Set{"app": "other"}))
	for _, text := range []string{
		"{apiVersion: v1, kind: Service, metadata: {name: s, namespace: shop}, spec: {selector: {app: web}}}",
		"{apiVersion: apps/v1, kind: Deployment, metadata: {name: d, namespace: shop}, spec: {selector: {}, template: {}}}",
		"{apiVersion: apps/v1, kind: Deployment, metadata: {name: d, namespace: shop}, spec: {selector: {matchExpressions: [{key: a, operator: Odd}]}, template: {}}}",
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: shop}}",
	} {
		_, is := SelectorOf(object(t, text))
		require.False(t, is, text)
	}
}
