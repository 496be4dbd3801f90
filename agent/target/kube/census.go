package kube

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"

	"flotilla/agent/target"
)

// census watches what an agent tells of its member: nodes, pods, namespaces and disruption budgets, and, once somebody
// surveys the member, what else decides where pods may go.
type census struct {
	nodes, pods, namespaces, budget *list
	surveyed                        func() *surveyed
}

func newCensus(o *lists, clients kubernetes.Interface, claims lister[*unstructured.UnstructuredList]) *census {
	core := clients.CoreV1()
	return &census{
		nodes:      openList(o, "nodes", core.Nodes(), &corev1.Node{}, thinNode, target.Change{Nodes: true}),
		pods:       openList(o, "pods", core.Pods(metav1.NamespaceAll), &corev1.Pod{}, thinPod, target.Change{Pods: true}),
		namespaces: openList(o, "namespaces", core.Namespaces(), &corev1.Namespace{}, withoutManagers, target.Change{}),
		budget:     openList(o, "poddisruptionbudgets", clients.PolicyV1().PodDisruptionBudgets(metav1.NamespaceAll), &policyv1.PodDisruptionBudget{}, withoutManagers, target.Change{Pods: true}),
		surveyed:   sync.OnceValue(func() *surveyed { return newSurveyed(o, clients, claims) }),
	}
}

// withoutManagers drops what takes room and nobody reads.
func withoutManagers(object any) (any, error) {
	if o, err := meta.Accessor(object); err == nil {
		o.SetManagedFields(nil)
	}
	return object, nil
}

// thinNode drops of a node when its kubelet said last that nothing changed: in a large cluster some kubelet says so every
// second.
func thinNode(object any) (any, error) {
	if node, is := object.(*corev1.Node); is {
		node.ManagedFields = nil
		for i := range node.Status.Conditions {
			node.Status.Conditions[i].LastHeartbeatTime = metav1.Time{}
		}
	}
	return object, nil
}

// thinPod leaves of a pod what says where it may run, what it takes there, and how it is.
func thinPod(object any) (any, error) {
	pod, is := object.(*corev1.Pod)
	if !is {
		return object, nil
	}
	pod.ManagedFields = nil
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			c := &containers[i]
			*c = corev1.Container{Name: c.Name, Image: c.Image, Ports: c.Ports, Resources: c.Resources, RestartPolicy: c.RestartPolicy}
		}
	}
	return pod, nil
}

// Namespaces lists the names of the namespaces.
func (t *Target) Namespaces(context.Context) ([]string, error) {
	all, err := objects[*corev1.Namespace](t.census.namespaces)
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].Name
	}
	return names, err
}

// Budgets lists the pod disruption budgets as their controller last judged them.
func (t *Target) Budgets(context.Context) ([]target.Budget, error) {
	all, err := objects[*policyv1.PodDisruptionBudget](t.census.budget)
	budgets := make([]target.Budget, len(all))
	for i, b := range all {
		budgets[i] = target.Budget{
			Namespace: b.Namespace, Name: b.Name,
			Expected: int(b.Status.ExpectedPods), Healthy: int(b.Status.CurrentHealthy), Allowed: int(b.Status.DisruptionsAllowed),
		}
	}
	return budgets, err
}
