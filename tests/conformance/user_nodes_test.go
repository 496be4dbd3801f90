package conformance

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
)

// kubeNode is a node as kubectl prints it on a cluster of Karpenter.
func (c *consolidationCase) kubeNode(n *recordedNode) *corev1.Node {
	state := c.node(n)
	out := &corev1.Node{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
		ObjectMeta: metav1.ObjectMeta{
			Name: n.Name, Labels: state.Labels, Annotations: state.Annotations, CreationTimestamp: state.Created,
		},
		Spec: corev1.NodeSpec{ProviderID: "recorded:///" + n.Name, Taints: n.Taints, Unschedulable: n.Unschedulable},
		Status: corev1.NodeStatus{
			Capacity: resources(state.Capacity), Allocatable: resources(state.Allocatable),
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: conditionOf(state.Ready), LastTransitionTime: state.Created}},
		},
	}
	if n.Unmanaged {
		return out
	}
	out.Finalizers = []string{api.FinalizerKarpenter}
	out.Labels[api.LabelRegistered] = "true"
	if state.Initialized {
		out.Labels[api.LabelInitialized] = "true"
	}
	return out
}

func conditionOf(holds bool) corev1.ConditionStatus {
	if holds {
		return corev1.ConditionTrue
	}
	return corev1.ConditionFalse
}

func resources(amounts api.Amounts) corev1.ResourceList {
	out := corev1.ResourceList{}
	for name, n := range amounts {
		if name == "cpu" {
			out[corev1.ResourceName(name)] = *resource.NewMilliQuantity(n, resource.DecimalSI)
		} else {
			out[corev1.ResourceName(name)] = *resource.NewQuantity(n, resource.BinarySI)
		}
	}
	return out
}

// nodeClaim is the NodeClaim of a node: what Karpenter knows of its machine.
func (c *consolidationCase) nodeClaim(n *recordedNode) map[string]any {
	state := c.node(n)
	labels := maps.Clone(state.Labels)
	delete(labels, corev1.LabelHostname)
	metadata := map[string]any{
		"name": "claim-of-" + n.Name, "labels": labels, "annotations": n.stamps(), "creationTimestamp": state.Created,
	}
	if n.Deleting {
		metadata["deletionTimestamp"] = metav1.NewTime(c.Now)
	}
	conditions := []metav1.Condition{
		condition("Launched", "Launched", true, state.Created), condition("Registered", "Registered", true, state.Created),
		condition("Initialized", "Initialized", state.Initialized, state.Since),
	}
	if n.DriftReason != "" {
		conditions = append(conditions, condition("Drifted", n.DriftReason, true, c.ago(n.DriftedAgo, 0)))
	}
	if n.Marked {
		conditions = append(conditions, condition("DisruptionReason", api.ReasonUnderutilized, true, metav1.NewTime(c.Now)))
	}
	spec := map[string]any{}
	if n.ExpireAfter != "" {
		spec["expireAfter"] = n.ExpireAfter
	}
	if n.TerminationGracePeriod != "" {
		spec["terminationGracePeriod"] = n.TerminationGracePeriod
	}
	status := map[string]any{"nodeName": n.Name, "providerID": "recorded:///" + n.Name, "conditions": conditions}
	if !state.LastPodEvent.IsZero() {
		status["lastPodEventTime"] = state.LastPodEvent
	}
	return map[string]any{"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim", "metadata": metadata, "spec": spec, "status": status}
}

func condition(kind, reason string, holds bool, since metav1.Time) metav1.Condition {
	return metav1.Condition{Type: kind, Status: metav1.ConditionStatus(conditionOf(holds)), Reason: reason, LastTransitionTime: since}
}

// nodePool is a pool as kubectl prints it on a cluster of Karpenter. A pool whose provider sells it some types
// alone requires them.
func (r *recordedPool) nodePool() *api.NodePool {
	out := r.pool()
	out.TypeMeta = metav1.TypeMeta{APIVersion: "karpenter.sh/v1", Kind: api.KindNodePool}
	out.Spec.Template.Spec.NodeClassRef = &api.NodeClassRef{Group: "recorded.example.com", Kind: "RecordedNodeClass", Name: "default"}
	if r.InstanceTypes != nil {
		requirements := &out.Spec.Template.Spec.Requirements
		*requirements = append(*requirements, api.NodeRequirement{Key: corev1.LabelInstanceTypeStable, Operator: "In", Values: r.InstanceTypes})
	}
	return out
}
