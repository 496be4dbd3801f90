package conformance

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"flotilla/core/api"
)

// controllers are the kinds that make pods, with the versions under which they do.
var controllers = map[string]string{
	"ReplicaSet": "apps/v1", "StatefulSet": "apps/v1", "DaemonSet": "apps/v1", "Job": "batch/v1", "Node": "v1",
}

// kubePod is a pod as kubectl prints it. All pods of a case were made at the same time.
func (c *consolidationCase) kubePod(p *recordedPod) *corev1.Pod {
	out := &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: cmp.Or(p.Namespace, "default"), Name: p.Name, Labels: p.Labels, Annotations: p.marks(),
			CreationTimestamp: metav1.NewTime(c.Now.Add(-time.Hour)),
		},
		Spec: corev1.PodSpec{
			NodeName: p.Node, NodeSelector: p.NodeSelector, Affinity: p.Affinity, Tolerations: p.Tolerations,
			TopologySpreadConstraints: p.Spread, Containers: []corev1.Container{p.container()},
		},
		Status: corev1.PodStatus{Phase: corev1.PodPhase(cmp.Or(p.Phase, string(corev1.PodRunning)))},
	}
	out.UID = types.UID(out.Namespace + "/" + out.Name)
	if owner := cmp.Or(p.Owner, "ReplicaSet"); owner != "none" {
		out.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: controllers[owner], Kind: owner, Name: "owner-of-" + p.Name, UID: "owner", Controller: new(true),
		}}
	}
	if p.Priority != 0 {
		out.Spec.Priority = new(p.Priority)
	}
	if p.StartedAgo != nil {
		out.Status.StartTime = new(c.ago(p.StartedAgo, 0))
	}
	if p.Terminating {
		out.DeletionTimestamp, out.DeletionGracePeriodSeconds = new(metav1.NewTime(c.Now.Add(30*time.Second))), new(int64(30))
	}
	if p.Node == "" {
		out.Status.Phase = corev1.PodPending
		out.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}
		return out
	}
	ready := corev1.ConditionTrue
	if p.NotReady {
		ready = corev1.ConditionFalse
	}
	out.Status.Conditions = []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: out.CreationTimestamp},
		{Type: corev1.PodReady, Status: ready, LastTransitionTime: out.CreationTimestamp},
	}
	return out
}

// marks are the annotations of a pod.
func (p *recordedPod) marks() map[string]string {
	out := maps.Clone(p.Annotations)
	if out == nil {
		out = map[string]string{}
	}
	if p.DoNotDisrupt != "" {
		out[api.AnnotationDoNotDisrupt] = p.DoNotDisrupt
	}
	if p.DeletionCost != "" {
		out[api.AnnotationDeletionCost] = p.DeletionCost
	}
	return out
}

func (p *recordedPod) container() corev1.Container {
	out := corev1.Container{Name: "app", Image: "app", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{}}}
	for name, amount := range map[corev1.ResourceName]string{corev1.ResourceCPU: p.CPU, corev1.ResourceMemory: p.Memory} {
		if amount != "" {
			out.Resources.Requests[name] = resource.MustParse(amount)
		}
	}
	for _, port := range p.HostPorts {
		out.Ports = append(out.Ports, corev1.ContainerPort{Name: "p" + strconv.Itoa(int(port)), ContainerPort: port, HostPort: port, Protocol: corev1.ProtocolTCP})
	}
	return out
}

func (p *recordedPDB) kubeBudget() *policyv1.PodDisruptionBudget {
	out := &policyv1.PodDisruptionBudget{
		TypeMeta:   metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"},
		ObjectMeta: metav1.ObjectMeta{Namespace: cmp.Or(p.Namespace, "default"), Name: p.Name},
		Spec: policyv1.PodDisruptionBudgetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: p.MatchLabels}, MinAvailable: p.MinAvailable, MaxUnavailable: p.MaxUnavailable,
		},
		Status: policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: p.Allowed},
	}
	if p.Unhealthy != "" {
		out.Spec.UnhealthyPodEvictionPolicy = new(policyv1.UnhealthyPodEvictionPolicyType(p.Unhealthy))
	}
	return out
}

// kubeDaemonSet is a DaemonSet whose pods run on no node yet.
func (p *recordedPod) kubeDaemonSet() *appsv1.DaemonSet {
	labels := map[string]string{"daemon": p.Name}
	maps.Copy(labels, p.Labels)
	return &appsv1.DaemonSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "DaemonSet"},
		ObjectMeta: metav1.ObjectMeta{Namespace: cmp.Or(p.Namespace, "default"), Name: p.Name},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: p.marks()}, Spec: corev1.PodSpec{
				NodeSelector: p.NodeSelector, Affinity: p.Affinity, Tolerations: p.Tolerations, TopologySpreadConstraints: p.Spread,
				Containers: []corev1.Container{p.container()},
			}},
		},
	}
}

// kubeNamespaces are those that the pods and budgets of a case are in.
func (c *consolidationCase) kubeNamespaces() []any {
	names := map[string]bool{"default": true}
	for i := range c.Pods {
		names[cmp.Or(c.Pods[i].Namespace, "default")] = true
	}
	for i := range c.PDBs {
		names[cmp.Or(c.PDBs[i].Namespace, "default")] = true
	}
	var out []any
	for _, name := range slices.Sorted(maps.Keys(names)) {
		out = append(out, &corev1.Namespace{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelMetadataName: name}},
		})
	}
	return out
}
